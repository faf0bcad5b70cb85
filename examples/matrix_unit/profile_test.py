"""What a profile says of an image with the unit: of each command, and of the run in which commands ran beside it.

usage: profile_test.py RUN.json...
"""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

from tools.run import judge

RUNS = [judge.load(Path(path)) for path in sys.argv[1:]]


class ProfileTest(unittest.TestCase):
    def test_commands_add_up_to_the_run(self) -> None:
        self.assertGreaterEqual(len(RUNS), 2)
        for run in RUNS:
            commands, (device,) = run.records("DISPATCH"), run.records("DEVICE")
            (stats,) = run.records("STATS")
            # The unit does the same, whether or not the hart does something beside it.
            self.assertEqual(sum(row.number("busy") for row in commands), device.number("busy"))
            work = sum(row.number("instret") for row in commands)
            total = work + device.number("waited")
            self.assertAlmostEqual(total / stats.number("instret"), 1, delta=0.02)

    def test_only_some_commands_are_the_units(self) -> None:
        for run in RUNS:
            for row in run.records("DISPATCH"):
                # Waiting ends at most one question after the unit does, and it also reads the list's words.
                self.assertLessEqual(row.number("waited"), 1.1 * row.number("busy"))
        busy = [row.number("busy") for row in RUNS[-1].records("DISPATCH")]
        self.assertIn(0, busy)

    def test_what_runs_beside_the_unit_need_not_wait(self) -> None:
        """In resnet8, which fills a border meanwhile."""
        (device,) = RUNS[-1].records("DEVICE")
        apart = sum(row.number("waited") for row in RUNS[-1].records("DISPATCH"))
        self.assertLess(device.number("waited"), 0.97 * apart)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
