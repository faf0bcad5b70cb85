"""The errors for models that the target would refuse. Every model's build shows that good ones pass."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tools.actions.accept import accept

REAL = Path(__file__).absolute().parents[3] / "models/ops/remainder"
PROGRAM = Path(os.environ["PROGRAM"])
# The object files of test_plan.c.
PLANS = {path.parent.name: path for path in map(Path, os.environ["PLANS"].split())}


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

    def judge(self, plan: str, kernels: Path = Path("none"), name: str = "test") -> tuple[int, str]:
        """Runs the check; returns its exit status and its message."""
        stamp, report = self.folder / "stamp", self.folder / "report.json"
        report.write_text(json.dumps(self.report))
        args = ["--model", "//a:model", "--plan", "out/plan.c", "--program", str(PROGRAM)]
        args += ["--plan-object", str(PLANS.get(plan, plan)), "--name", name]
        args += ["--kernels", str(kernels), "--report", str(report), "--out", str(stamp)]
        with contextlib.redirect_stderr(io.StringIO()) as said:
            status = accept.main(args)
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

    def test_commands_that_may_not_run_at_the_same_time_are_refused(self) -> None:
        status, said = self.judge("plan_race")
        self.assertEqual(status, 1)
        self.assertRegex(
            said, r"would refuse command 1 of its plan .* at runtime_bm/plan/plan_order\.c:\d+"
        )

    def test_a_plan_in_several_variables_gets_its_stamp(self) -> None:
        self.assertEqual(self.judge("plan_placed"), (0, ""))

    def test_a_refused_command_is_named_if_drivers_change_its_bindings(self) -> None:
        status, said = self.judge("plan_placed_overlap")
        self.assertEqual(status, 1)
        self.assertIn("would refuse command 1 of its plan (a copy of 64 bytes)", said)

    def test_a_plan_without_its_weights_is_refused(self) -> None:
        status, said = self.judge("plan_weights")
        self.assertEqual(status, 1)
        self.assertRegex(said, r"DATA_LOSS .* at runtime_bm/plan/plan_verify\.c:\d+")

    def test_state_that_is_not_aligned_is_refused(self) -> None:
        status, said = self.judge("plan_placed_askew")
        self.assertEqual(status, 1)
        self.assertRegex(said, r"DATA_LOSS .* at runtime_bm/plan/plan_verify\.c:\d+")

    def test_a_table_longer_than_its_variable_is_no_pass(self) -> None:
        status, said = self.judge("plan_placed_short")
        self.assertEqual(status, 1)
        self.assertIn("a table of the plan ends after its variable", said)

    def test_an_object_without_the_plan_is_no_pass(self) -> None:
        status, said = self.judge("plan_good", name="other")
        self.assertEqual(status, 1)
        self.assertRegex(said, r"^//a:model: .* defines no other_plan: .*\n$")

    def test_what_is_no_object_is_no_pass(self) -> None:
        bitcode = self.folder / "plan.o"
        bitcode.write_bytes(b"BC\xc0\xde" * 64)
        status, said = self.judge(str(bitcode))
        self.assertEqual(status, 1)
        self.assertRegex(said, r"^//a:model: .*plan.o is no ELF file .*\n$")

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
