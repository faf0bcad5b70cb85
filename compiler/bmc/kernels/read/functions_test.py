"""Compares functions with those of Python's math library."""

from __future__ import annotations

import math
import unittest
from typing import Any

import numpy as np
import products

from bmc.kernels.problem.product import RESULT, Node
from bmc.kernels.read import functions
from bmc.kernels.read.body import Operations

Floats = np.ndarray[Any, np.dtype[np.float32]]


def _table(_: Any) -> int:
    raise AssertionError


class FunctionsTest(unittest.TestCase):
    def of(self, name: str, x: Floats) -> products.Array:
        operations = Operations(_table)
        operations.node(Node("sum", "f32"))
        last = functions.OF_FLOATS[f"math.{name}"](0, operations)
        self.assertEqual(last, len(operations.nodes) - 1)
        with np.errstate(all="ignore"):
            return products.evaluated(tuple(operations.nodes), x, lambda _: x)[RESULT]

    def test_erf_and_tanh(self) -> None:
        parts = (np.linspace(-10, 10, 100_001), np.logspace(-30, 0, 2001), [0, np.inf, -np.inf])
        x = np.concatenate(parts).astype(np.float32)
        for name, function in (("erf", math.erf), ("tanh", math.tanh)):
            with self.subTest(name):
                right = np.array([function(each) for each in x])
                off = np.abs(self.of(name, x) - right)
                self.assertLess(off.max(), 5e-7)
                self.assertLess((off[right != 0] / np.abs(right[right != 0])).max(), 5e-7)

    def test_large_numbers_give_exactly_one(self) -> None:
        for name, end in (("erf", 3.93), ("tanh", 9.03)):
            x = np.concatenate([np.linspace(end, 20, 1001), [1e4, 1e30, 3e38, np.inf]])
            for sign in (1, -1):
                result = self.of(name, (sign * x).astype(np.float32))
                np.testing.assert_array_equal(result, np.full(x.size, sign, np.float32))

    def test_exp(self) -> None:
        parts = (np.linspace(-104, 88.72, 200_001), np.logspace(-30, 0, 2001), [0, -0.0, 1])
        x = np.concatenate(parts).astype(np.float32)
        right = np.array([math.exp(each) for each in x])
        off = np.abs(self.of("exp", x) - right) / np.maximum(right, np.finfo(np.float32).tiny)
        self.assertLess(off.max(), 5e-7)

    def test_exp_has_limits(self) -> None:
        small = np.array([-np.inf, -3e38, -1e4, -105, -104], np.float32)
        np.testing.assert_array_equal(self.of("exp", small), np.zeros(5, np.float32))
        large = np.array([np.inf, 3e38, 1e4, 100, 88.8], np.float32)
        np.testing.assert_array_equal(self.of("exp", large), np.full(5, np.inf, np.float32))
        self.assertTrue(np.isfinite(self.of("exp", np.array([88.7228], np.float32))).all())
        ones = self.of("exp", np.array([0.0, -0.0], np.float32))
        np.testing.assert_array_equal(ones, np.ones(2, np.float32))

    def test_nan(self) -> None:
        for name in ("erf", "tanh", "exp"):
            self.assertTrue(np.isnan(self.of(name, np.full(3, np.nan, np.float32))).all(), name)


if __name__ == "__main__":
    unittest.main()
