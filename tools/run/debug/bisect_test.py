"""bisect.py: which differences between two traces count."""

from __future__ import annotations

import unittest

import numpy as np
from blank import blank

import bmc.report
from bmc.dtype import Array
from bmc.report import Dispatch, Entry, Golden, Model
from tools.cli import UserError
from tools.run.debug import bisect, tolerance
from tools.run.debug.bisect import Step
from tools.run.debug.tolerance import Tolerance

SIDES = ("board", "host")
DISPATCHES = (
    blank(Dispatch, name="main_dispatch_0_a", op="a", source="model.py:3"),
    blank(Dispatch, name="main_dispatch_1_b", op="b"),
)
ZERO = np.zeros(4, np.float32)


def step(number: int, after: Array, before: Array | None = None, command: int = -1) -> Step:
    start = np.zeros_like(after) if before is None else before
    name = DISPATCHES[number].name
    return Step(0, number if command < 0 else command, name, {"out1": (start, after)})


def compare(got: list[Step], want: list[Step], branches: bool = False) -> str:
    report = blank(Model, dispatches=DISPATCHES, entries=(blank(Entry, driver=branches),))
    return bisect.compare(got, want, Tolerance(1e-5, 1e-5), SIDES, report)


class CompareTest(unittest.TestCase):
    def test_equal_traces_agree(self) -> None:
        same = [step(0, ZERO + 1), step(1, ZERO + 2)]
        self.assertEqual(compare(same, same), "")

    def test_the_first_of_two_is_named(self) -> None:
        want = [step(0, ZERO + 1), step(1, ZERO + 2)]
        got = [step(0, np.array([1, 1, 1.5, 3], np.float32)), step(1, ZERO)]
        sentence = compare(got, want)
        self.assertIn(
            "command 0, main_dispatch_0_a (a, made of model.py:3), is the first", sentence
        )
        self.assertIn("differs in 2 of 4 elements, by up to 2 ", sentence)
        self.assertIn("first at [2]: 1.5, not 1", sentence)

    def test_floats_within_tolerance_agree_and_the_largest_value_sets_the_scale(self) -> None:
        want = np.array([1000, 0, 1, 1], np.float32)
        self.assertEqual(
            compare([step(0, want + np.array([0, 5e-3, 0, 0], np.float32))], [step(0, want)]), ""
        )
        self.assertNotEqual(
            compare([step(0, want + np.array([0, 5e-2, 0, 0], np.float32))], [step(0, want)]), ""
        )

    def test_inside_a_model_more_is_allowed_than_at_its_outputs(self) -> None:
        policies = (
            bmc.report.Exact("Exact"),
            bmc.report.Tolerance("Tolerance", 1e-5, 0.0, None),
            bmc.report.Tolerance("Tolerance", 1e-6, 1e-4, None),
        )
        found = tolerance.of_report(blank(Model, golden=blank(Golden, policies=policies)))
        self.assertAlmostEqual(found.atol, 1e-4)
        self.assertAlmostEqual(found.rtol, 1e-3)

    def test_integers_are_exact(self) -> None:
        want = np.array([1, 2, 3], np.int8)
        self.assertIn(
            "nothing is allowed", compare([step(0, np.array([1, 2, 4], np.int8))], [step(0, want)])
        )
        # As f64, both are the same.
        large = np.array([2**53 + 1], np.int64)
        self.assertEqual(compare([step(0, large)], [step(0, large)]), "")
        self.assertIn(
            "differs in 1 of 1 elements, by up to 1 ",
            compare([step(0, large - 1)], [step(0, large)]),
        )

    def test_nan_and_infinity_only_where_they_are_wanted(self) -> None:
        ones = np.array([1, 1], np.float32)
        for special in (np.array([np.nan, 1], np.float32), np.array([np.inf, 1], np.float32)):
            self.assertEqual(compare([step(0, special)], [step(0, special)]), "")
            self.assertNotEqual(compare([step(0, special)], [step(0, ones)]), "")
            self.assertNotEqual(compare([step(0, ones)], [step(0, special)]), "")

    def test_memory_that_neither_wrote_is_not_compared(self) -> None:
        got = step(0, np.array([1, 7], np.float32), before=np.array([0, 7], np.float32))
        want = step(0, np.array([1, 9], np.float32), before=np.array([0, 9], np.float32))
        self.assertEqual(compare([got], [want]), "")
        written = step(0, np.array([1, 9], np.float32), before=np.array([0, 0], np.float32))
        self.assertNotEqual(compare([got], [written]), "")

    def test_another_way_through_a_branch(self) -> None:
        sentence = compare([step(0, ZERO, command=3)], [step(0, ZERO, command=5)], branches=True)
        self.assertIn("a branch was decided differently", sentence)
        sentence = compare([step(0, ZERO)], [step(0, ZERO)] * 2, branches=True)
        self.assertIn("board ran 1 dispatches, host 2", sentence)

    def test_other_dispatches_are_not_compared(self) -> None:
        for other in (
            [step(0, np.zeros(5, np.float32))],
            [step(0, ZERO, command=1)],
            [step(0, ZERO)] * 2,
        ):
            with self.assertRaisesRegex(UserError, "other dispatches in host .*--per-layer"):
                compare([step(0, ZERO)], other)


if __name__ == "__main__":
    unittest.main()
