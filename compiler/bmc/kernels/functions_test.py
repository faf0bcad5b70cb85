"""Compares functions with those of Python's math library."""

from __future__ import annotations

import math
import unittest

import numpy as np
import products

from bmc.kernels import functions
from bmc.kernels.product import RESULT, Node


class FunctionsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.nodes = [Node("sum", "f32")]

    def number(self, value: float) -> int:
        self.nodes.append(Node("constant", "f32", value=value))
        return len(self.nodes) - 1

    def float_(self, op: str, *args: int) -> int:
        self.nodes.append(Node(op, "f32", args))
        return len(self.nodes) - 1

    def erf(self, x: np.ndarray[tuple[int], np.dtype[np.float32]]) -> products.Array:
        last = functions.erf(0, self.number, self.float_)
        self.assertEqual(last, len(self.nodes) - 1)
        return products.evaluated(tuple(self.nodes), x, lambda _: x)[RESULT]

    def test_erf(self) -> None:
        parts = (np.linspace(-6, 6, 100_001), np.logspace(-30, 0, 2001), [0, np.inf, -np.inf])
        x = np.concatenate(parts).astype(np.float32)
        right = np.array([math.erf(each) for each in x])
        off = np.abs(self.erf(x) - right)
        self.assertLess(off.max(), 5e-7)
        self.assertLess((off[right != 0] / np.abs(right[right != 0])).max(), 5e-7)

    def test_erf_of_large_numbers_is_exactly_one(self) -> None:
        x = np.concatenate([np.linspace(3.93, 10, 1001), [1e4, 1e30, 3e38, np.inf]])
        for sign in (1, -1):
            result = self.erf((sign * x).astype(np.float32))
            np.testing.assert_array_equal(result, np.full(x.size, sign, np.float32))

    def test_erf_of_nan(self) -> None:
        self.assertTrue(np.isnan(self.erf(np.full(3, np.nan, np.float32))).all())


if __name__ == "__main__":
    unittest.main()
