"""QEMU counts the same instructions as Spike, of each command of a model.

usage: counts_test.py (SPIKE.json QEMU.json)...   Runs of one image each.
"""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

from tools.run import judge, result

RUNS = [judge.load(Path(path)) for path in sys.argv[1:]]


def counts(outcome: result.Outcome) -> list[tuple[str, int]]:
    """Returns the instructions of each command, and of the whole inference."""
    kinds = ("DISPATCH", "STATS")
    records = [record for kind in kinds for record in outcome.records(kind)]
    return [(record.kind, record.number("instret")) for record in records]


class CountsTest(unittest.TestCase):
    def test_the_same_on_both(self) -> None:
        self.assertGreaterEqual(len(RUNS), 2)
        for spike, qemu in zip(RUNS[::2], RUNS[1::2], strict=True):
            self.assertGreater(len(counts(spike)), 2)
            self.assertEqual(counts(spike), counts(qemu))

    def test_a_dispatch_takes_a_few_hundred_instructions_outside_its_kernel(self) -> None:
        """Also where dispatches have several workgroups, of which another one is measured by itself."""
        for run in RUNS:
            for stats in run.records("STATS"):
                self.assertIn(stats.number("walker"), range(20, 500))
                self.assertIn(stats.number("workgroup"), range(1, 50))

    def test_not_the_same_of_two_images(self) -> None:
        one, other, *_ = RUNS[::2]
        self.assertNotEqual(counts(one), counts(other))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
