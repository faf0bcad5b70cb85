"""Rows of a measurement, from a run of two inferences of a small model, and the page that shows them."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from blank import blank
from rich.console import Console
from rich.table import Table

from bmc import records
from bmc.report import Arena, Command, Dispatch, Model
from tools.report.bench import mca, measure, measured, page
from tools.report.bench.code_test import VECTOR
from tools.report.files import save
from tools.report.report import Image
from tools.run import result

PRODUCT = "main_dispatch_0_matmul_i8"


def shown(parts: list[str | Table]) -> str:
    """Returns what bench prints, without spaces at the ends of lines."""
    out = io.StringIO()
    Console(file=out, width=100, highlight=False).print(*parts, sep="\n")
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


MODEL = blank(
    Model,
    name="net",
    isa="rv64gcv_zvl256b",
    arena=blank(Arena, bytes=120, liveness_bound_bytes=100),
    dispatches=(
        blank(
            Dispatch,
            name=PRODUCT,
            op="matmul_i8",
            macs=19_200,
            accumulator="i32",
            source="model.py:3",
        ),
    ),
    commands=(
        blank(Command, kind="fill", workgroups=(0, 0, 0), bytes=512),
        blank(
            Command,
            kind="dispatch",
            function=PRODUCT,
            workgroups=(2, 1, 1),
            layer="fc (Linear)",
        ),
    ),
)
# Four launches: two workgroups in each of two inferences; 30 iterations in each launch.
COUNTS = (
    [(0x4E7C, 4)]
    + [(at, 120) for at in (0x4E80, 0x4E84, 0x4E88, 0x4E8C, 0x4E9C, 0x4EAC, 0x4EB0, 0x4EB2)]
    + [(at, 4) for at in (0x4EB6, 0x4EBA, 0x4EBE)]
)
RECORDS = (
    "BM1 BOOT isa=i vlen=256 board=b",
    "BM1 MODEL name=net",
    "BM1 DISPATCH index=0 instret=100",
    "BM1 DISPATCH index=1 instret=1000",
    "BM1 STATS instret=1200 cycles=0 arena=8 stack=100 walker=1 workgroup=1",
    "BM1 PASS cases=2",
)
DISASSEMBLY = [
    f"{0x4E7C:016x} <net_k_{PRODUCT}>:",
    *VECTOR.splitlines(),
    "0000000000005000 <main>:",
]


def taken(counts: list[tuple[int, int]], disassembly: list[str] = DISASSEMBLY) -> measured.Model:
    lines = (*RECORDS, *(f"{at:08x} {count}" for at, count in counts))
    with mock.patch.object(mca, "cycles", lambda loops, core: [20.0] * len(loops)):
        core = mca.Core("mca", "spacemit-x60")
        (row,) = measure.image([MODEL], result.Outcome(lines, 0), disassembly, core)
    return row


class MeasureTest(unittest.TestCase):
    def test_a_row_for_each_command(self) -> None:
        fill, product = taken(COUNTS).commands
        self.assertEqual((fill.class_, fill.instructions, fill.bound), ("fill", 100, 2))
        self.assertEqual((product.layer, product.instructions), ("fc (Linear)", 1000))
        self.assertEqual((product.macs, product.bound), (19_200, 700))
        assert isinstance(product, measured.Executed)
        # One inference: 60 iterations, each 1 + 2 + 4 registers, and two moves of four.
        self.assertEqual(product.vector_products, 60)
        self.assertEqual(product.work, 60 * 7 + 2 * (4 + 4))
        self.assertEqual(product.spills, 4)
        self.assertEqual(product.scalar_products, 0)
        # 60 iterations of 20 cycles; outside of them two instructions and two moves of four registers.
        self.assertEqual(product.cycles, 60 * 20 + 2 * (1 + 4 + 4 + 1))

    def test_a_kernel_that_never_ran_has_no_counts(self) -> None:
        product = taken([]).commands[1]
        self.assertNotIsInstance(product, measured.Executed)
        self.assertEqual(product.instructions, 1000)

    def test_kernels_that_the_runtime_loads_have_only_instructions(self) -> None:
        product = taken(COUNTS, DISASSEMBLY[-1:]).commands[1]
        self.assertNotIsInstance(product, measured.Executed)
        self.assertEqual((product.instructions, product.bound), (1000, 700))

    def test_what_is_written_is_read_again(self) -> None:
        for row in (taken(COUNTS), taken([])):
            data = json.loads(json.dumps(records.encode(row)))
            self.assertIn("class", data["commands"][0])
            self.assertEqual(records.decode(measured.Model, data), row)

    def test_a_run_that_fails_measures_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as work:
            run, out = Path(work) / "run.json", Path(work) / "out.json"
            lines = (*RECORDS[:-1], "BM1 FAIL model=net differing=1")
            run.write_text(json.dumps({"lines": lines, "exit_status": 1}))
            report, disassembly = Path(work) / "report.json", Path(work) / "code.s"
            save(report, blank(Image, models=(MODEL,)))
            disassembly.write_text("\n".join(DISASSEMBLY))
            options = {"report": report, "run": run, "disassembly": disassembly, "out": out}
            args = [
                "--mca=mca",
                "--core=x",
                *(f"--{name}={path}" for name, path in options.items()),
            ]
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(measure.main(args), 1)
            self.assertRegex(said.getvalue(), "^measure: the profile run failed: .* FAIL model=net")
            self.assertFalse(out.exists())

    def test_what_is_printed(self) -> None:
        model = taken(COUNTS)
        text = shown(page.table(model))
        self.assertIn("net, VLEN 256: 1,200 instructions, 0.062 per MAC; 58 % of the bound", text)
        self.assertIn("arena 120 bytes, liveness bound 100: 1.20; cycles of a spacemit-x60\n", text)
        self.assertRegex(text, r"\n +1,000 +700 +70 % +19,200 +0\.052 .*  fc \(Linear\)  matmul_i8")
        self.assertRegex(text, r"\n +100 +2 +2 % +fill")
        text = shown(page.ranking([model, model]))
        self.assertRegex(text, r"\n +600 +75.4 % +2,000  matrix product\n")
        self.assertRegex(text, r"\n +196 +24.6 % +200  fill\n")


if __name__ == "__main__":
    unittest.main()
