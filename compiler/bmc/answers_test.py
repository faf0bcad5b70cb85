"""Tests how far an answer may be from the expected one, and in how many elements."""

from __future__ import annotations

import unittest

import numpy as np

from bmc import answers
from bmc.dtype import DType
from bmc.spec import Exact, IntStep, Tolerance

WANT = np.array([-128, 0, 127, 5], np.int8)
NEAR = np.array([-127, 0, 126, 5], np.int8)


class CompareTest(unittest.TestCase):
    def test_step_limits_how_far_and_how_many(self) -> None:
        far = np.array([-128, 2, 127, 5], np.int8)
        for got, policy, ok in (
            (WANT, IntStep(0, 0), True),
            (NEAR, IntStep(1, 2), True),
            (NEAR, IntStep(1, 1), False),
            (NEAR, IntStep(0, 4), False),
            (far, IntStep(1, 4), False),
            (far, IntStep(2, 1), True),
        ):
            self.assertEqual(answers.compare(got, WANT, policy).ok, ok, (got, policy))

    def test_what_differs_is_counted(self) -> None:
        self.assertEqual(answers.compare(NEAR, WANT, IntStep(1, 2)).differing, 2)
        self.assertEqual(answers.compare(NEAR, WANT, Exact()).differing, 2)
        nan = np.array([np.nan, np.nan, 1.0], np.float32)
        other = np.array([np.nan, 0.0, 1.5], np.float32)
        self.assertEqual(answers.compare(nan, other, Tolerance(1.0, 0.0)).differing, 2)

    def test_a_distance_is_a_share_of_what_is_wanted(self) -> None:
        want, got = (np.array(row, np.float32) for row in ([1, -4, np.inf], [2, -4, 9]))
        self.assertEqual(answers.share(want, got), 0.25)
        for empty in (np.zeros(3, np.float32), np.arange(3)):
            self.assertEqual(answers.share(empty, empty + 1), 0.0)

    def test_exact_is_bit_by_bit_but_for_nan(self) -> None:
        zero, nan = np.zeros(2, np.float32), np.array([np.nan, 0], np.float32)
        for got, want, ok in (
            (zero, zero, True),
            (zero, -zero, False),
            (nan, np.copysign(nan, [-1, 1]).astype(np.float32), True),
            (nan, zero, False),
            (np.array(2**60 + 1), np.array(2**60 + 2), False),
        ):
            self.assertEqual(answers.compare(got, want, Exact()).ok, ok, (got, want))

    def test_bf16_is_no_integer(self) -> None:
        one, half = np.array([0x3F80], np.uint16), np.array([0x3F00], np.uint16)
        for dtype, ok in ((DType.BF16, True), (DType.U16, False)):
            got, want = half.view(dtype.numpy), one.view(dtype.numpy)
            self.assertEqual(answers.compare(got, want, Tolerance(0.5, 0.0)).ok, ok)

    def test_truth_values_have_one_of_two_bytes(self) -> None:
        got, want = np.array([2, 1, 0], np.uint8).view(bool), np.array([True, True, False])
        found = answers.compare(got, want, Exact())
        self.assertEqual((found.ok, found.max_abs, found.differing), (False, 1.0, 1))


if __name__ == "__main__":
    unittest.main()
