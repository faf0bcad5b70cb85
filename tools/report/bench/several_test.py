"""The table of several harts, of small reports."""

from __future__ import annotations

import io
import unittest

from blank import blank
from rich.console import Console

from bmc.report import Command, Model
from tools.report.bench import several
from tools.report.report import Harts, Image, Inference, Run, Stretch


def report(critical: int, harts: Harts | None = None) -> Image:
    commands = (
        blank(Command, layer="conv (Conv2d)", function="f"),
        blank(Command, function="g"),
    )
    measured = blank(Inference, name="m", instructions=critical, harts=harts)
    run = blank(Run, models=(measured,))
    return blank(Image, run=run, models=(blank(Model, commands=commands),))


ALONE = report(1000)
FOUR = report(
    312,
    Harts(
        barriers=12,
        count=4,
        critical=312,
        stretches=(
            Stretch(barrier=6, commands=(0,), work=(200, 200, 200, 200)),
            Stretch(barrier=6, commands=(1,), work=(100, 50, 50, 50)),
        ),
        work=(300, 250, 250, 250),
    ),
)


class SeveralTest(unittest.TestCase):
    def test_efficiency_is_that_of_one_hart(self) -> None:
        ((name, taken, worst),) = several.rows({1: ALONE, 4: FOUR})
        self.assertEqual(name, "m")
        self.assertEqual(taken[1], (1000, 1.0))
        self.assertEqual(taken[4][0], 312)
        self.assertAlmostEqual(taken[4][1], 1000 / (4 * 312))
        # 4 * 106 - 250 of 4 * 312.
        self.assertEqual(worst, "13.9 % in g")

    def test_the_table(self) -> None:
        out = io.StringIO()
        Console(file=out, width=120).print(several.table([{1: ALONE, 4: FOUR}]))
        text = out.getvalue()
        self.assertRegex(text, r"model +1 hart +4 harts +efficiency +largest loss on 4 harts")
        self.assertRegex(text, r"m +1,000 +312 +80 % +13\.9 % in g")


if __name__ == "__main__":
    unittest.main()
