"""The table of CPU designs in gates, of small reports."""

from __future__ import annotations

import io
import unittest
from unittest import mock

from blank import blank
from rich.console import Console

from bmc.report import Command, Dispatch, Model
from tools.cli import UserError
from tools.report.bench import builds, gates
from tools.report.report import Image, Inference, Ran, Run

PRODUCT = blank(Command, function="f", kind="dispatch", layer="fc (Linear)")
MODEL = blank(
    Model,
    name="m",
    commands=(PRODUCT, blank(Command, kind="fill"), PRODUCT),
    dispatches=(blank(Dispatch, name="f", op="matmul_8x8", macs=64),),
)


def report(*cycles: int, where: str = "a core") -> Image:
    commands = tuple(Ran(i, 100, 1, cycles=n) for i, n in enumerate(cycles))
    measured = blank(Inference, instructions=320, cycles=sum(cycles) + 20, commands=commands)
    run = blank(Run, models=(measured,), cycles_of=where)
    return blank(Image, board="b", models=(MODEL,), run=run)


class GatesTest(unittest.TestCase):
    def test_where_cycles_go(self) -> None:
        out = io.StringIO()
        shown = gates.lines(report(150, 400, 170), report(900, 500, 930, where="a core and flash"))
        Console(file=out, width=120).print(*shown, sep="\n")
        text = out.getvalue()
        self.assertIn(
            "m on b: 320 instructions, 740 cycles, 2.31 for each instruction; 2,350 with the ROM in flash",
            text,
        )
        fill, product = (
            r" 100 +400 +4\.00 +500 +fill *\n",
            r" +200 +320 +1\.60 +1,830 +128 +2\.50 +",
        )
        self.assertRegex(text, fill + product + r"fc \(Linear\)  matmul_8x8")
        self.assertIn("in flash: cycles of a core and flash", text)

    def test_models_are_found_by_short_names(self) -> None:
        labels = ["//g:mlp.ibex.in_flash.report", "//g:mlp.vex.in_flash.report"]
        with mock.patch.object(builds, "query", lambda _: labels):
            pairs = [(label.replace(".in_flash", ""), label) for label in labels]
            self.assertEqual(builds.in_gates(["mlp"]), pairs)
            self.assertEqual(builds.in_gates([]), pairs)
            with self.assertRaisesRegex(
                UserError, "^there is no model 'ml' in gates; there are mlp$"
            ):
                builds.in_gates(["ml"])


if __name__ == "__main__":
    unittest.main()
