"""The errors for models that the target would refuse. Every model's build shows that good ones pass."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tools.fit import fit

HERE = Path(__file__).absolute().parent
REAL = HERE.parent.parent / "models/ops/remainder"


class FitTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.report: dict[str, Any] = {
            "isa": "x86_64",
            "flash": {"kernels_elf_bytes": 0},
            "commands": [{"kind": "copy", "function": "", "bytes": 64}] * 2,
        }

    def judge(self, program: str, kernels: Path = Path("none")) -> tuple[int, str]:
        """Runs the check; returns its exit status and its message."""
        stamp, report = self.folder / "stamp", self.folder / "report.json"
        report.write_text(json.dumps(self.report))
        args = ["--model", "//a:model", "--plan", "out/plan.c", "--program", str(HERE / program)]
        args += ["--kernels", str(kernels), "--report", str(report), "--out", str(stamp)]
        with contextlib.redirect_stderr(io.StringIO()) as said:
            status = fit.main(args)
        self.assertEqual(stamp.exists(), status == 0)
        return status, said.getvalue()

    def with_kernels(self, **changes: object) -> None:
        """Uses the report of a real model with one kernel."""
        self.report = json.loads((REAL / "report.json").read_text()) | changes

    def test_a_good_plan_gets_its_stamp(self) -> None:
        self.assertEqual(self.judge("plan_good"), (0, ""))

    def test_a_refused_command_is_named(self) -> None:
        status, said = self.judge("plan_overlap")
        self.assertEqual(status, 1)
        self.assertRegex(
            said,
            r"^//a:model: on x86_64 the runtime would refuse command 1 of its plan \(a copy of 64 bytes\)"
            r" when it starts: 0x\w+: DATA_LOSS \(an image is malformed\) at"
            r" runtime_bm/plan/plan_verify\.c:\d+ BM_CHECK\(.*overlap.*\);\n"
            r"  hint: .* out/plan\.c\n$",
        )

    def test_what_is_no_command_is_said_to_be_the_plan(self) -> None:
        status, said = self.judge("plan_entry")
        self.assertEqual(status, 1)
        self.assertIn("would refuse its plan or kernels when it starts", said)
        self.assertIn("DATA_LOSS", said)

    def test_kernels_that_are_not_the_plans_are_refused(self) -> None:
        for isa in ("rv64gc", "x86_64"):
            self.with_kernels(isa=isa)
            status, said = self.judge("plan_kernels", REAL / "kernels.elf")
            self.assertEqual(status, 1, isa)
            # It gets as far as their names.
            self.assertRegex(said, r"NOT_FOUND .* at runtime_bm/exec/executable\.c:\d+")

    def test_kernels_the_loader_cannot_load_are_refused(self) -> None:
        self.with_kernels()
        cut = self.folder / "kernels.elf"
        cut.write_bytes((REAL / "kernels.elf").read_bytes()[:100])
        status, said = self.judge("plan_kernels", cut)
        self.assertEqual(status, 1)
        self.assertRegex(said, r"DATA_LOSS .* at runtime_bm/elf/elf_loader\.c:\d+")

    def test_kernels_of_32_bits_are_left_to_bmc(self) -> None:
        self.with_kernels(isa="rv32imac")
        self.assertEqual(self.judge("plan_kernels", Path("none")), (0, ""))

    def test_a_check_that_dies_is_no_pass(self) -> None:
        self.with_kernels()
        status, said = self.judge("plan_kernels", Path("none"))
        self.assertEqual(status, 1)
        self.assertIn("the check itself ended with status 1", said)


if __name__ == "__main__":
    unittest.main()
