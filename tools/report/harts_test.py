"""What reports say of several harts, made of the records of a run."""

from __future__ import annotations

import re
import unittest

from tools.report import harts, harts_table, size
from tools.report.report import Harts, Inference
from tools.run import result


class HartsTest(unittest.TestCase):
    LINES = (
        "BM1 BOOT isa=rv64gcv vlen=256 board=spike_rv64",
        "BM1 MODEL name=m",
        "BM1 BARRIER instret=40",
        "BM1 DISPATCH index=0 instret=310 harts=100,110,100",
        "BM1 BARRIER instret=50",
        # Two that run side by side.
        "BM1 DISPATCH index=1 instret=60 harts=60,0,0",
        "BM1 DISPATCH index=2 instret=80 harts=0,80,0",
        "BM1 BARRIER instret=60",
        "BM1 STATS instret=999 cycles=0 arena=512 stack=400 walker=- workgroup=-",
        "BM1 PASS cases=1",
    )

    def summary(self, lines: tuple[str, ...]) -> Inference:
        return size.run_summary(result.Outcome(lines, 0)).models[0]

    def harts(self) -> Harts:
        found = self.summary(self.LINES).harts
        assert found is not None
        return found

    def test_the_critical_path(self) -> None:
        measured = self.summary(self.LINES)
        found = self.harts()
        self.assertEqual(found.count, 3)
        self.assertEqual(found.barriers, 150)
        # The longest share of each stretch, and all barriers.
        self.assertEqual(found.critical, 110 + 80 + 150)
        self.assertEqual(measured.instructions, found.critical)
        self.assertEqual(found.work, (160, 190, 100))
        self.assertEqual([each.commands for each in found.stretches], [(), (0,), (1, 2)])
        self.assertAlmostEqual(harts.efficiency(found), 450 / (3 * 340))
        (lost, stretch), *_ = harts_table.losses(found)
        self.assertEqual((lost, stretch.commands), (3 * (80 + 60) - 140, (1, 2)))

    def test_what_a_report_says(self) -> None:
        first, second = harts_table.lines(self.harts())
        self.assertEqual(
            first,
            "3 harts: critical path 340 instructions, of which 150 in 3 barriers; efficiency 44 %",
        )
        self.assertEqual(second, "idle: hart 0 53 %, hart 1 44 %, hart 2 71 %")

    def test_one_hart_has_none(self) -> None:
        alone = tuple(
            re.sub(r" harts=\S+", "", line) for line in self.LINES if "BARRIER" not in line
        )
        self.assertIsNone(self.summary(alone).harts)

    def test_a_damaged_record(self) -> None:
        for damaged in ("harts=100,1x0,100", "harts=,110,100"):
            lines = tuple(line.replace("harts=100,110,100", damaged) for line in self.LINES)
            with self.assertRaisesRegex(result.RecordError, "is no list of numbers"):
                self.summary(lines)
        for before, after in (
            ("harts=100,110,100", "harts=100,110"),
            ("BARRIER instret=60", "NOTHING instret=60"),
        ):
            lines = tuple(line.replace(before, after) for line in self.LINES)
            with self.assertRaisesRegex(result.RecordError, "do not belong together"):
                self.summary(lines)


if __name__ == "__main__":
    unittest.main()
