"""Tests functions of f64 of all kinds of numbers, by what IREE computes."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.meaning import f64_functions

_FUNCTIONS = """func.func @main(%x: T, %y: T) -> (T, T, T, T, T, T) {
  %0 = stablehlo.sine %x : T
  %1 = stablehlo.cosine %x : T
  %2 = stablehlo.tan %x : T
  %3 = stablehlo.tanh %x : T
  %4 = math.atan %x : T
  %5 = stablehlo.atan2 %x, %y : T
  return %0, %1, %2, %3, %4, %5 : T, T, T, T, T, T
}
"""
# Of these, the constants of PyTorch's layer norm are f64; IREE computes them as f32.
_INSIDE = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.extf %x : tensor<4xf32> to tensor<4xf64>
  %1 = math.tanh %0 : tensor<4xf64>
  %2 = arith.truncf %1 : tensor<4xf64> to tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""
_EDGES = (
    *(0, -0.0, np.inf, -np.inf, np.nan, 2**-6, -(2**-6), 1e-30, 1.7e308, -(2.0**53), 1e22),
    *(1, -1, np.sqrt(2) - 1, 0.5, -0.5, 700),
)


def _numbers() -> tuple[Array, ...]:
    """Returns pairs of numbers of every exponent, of those nearest to quarters of turns, and of edges."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**64, 2000, np.uint64).view(np.float64)
    quarters = np.concatenate([np.arange(1, 300), rng.integers(300, 2**52, 300)]) * (np.pi / 2)
    edges = np.array(np.meshgrid(_EDGES, _EDGES)).reshape(2, -1)
    x = np.concatenate([bits, quarters, edges[0]])
    y = np.concatenate([bits[::-1], quarters[::-1], edges[1]])
    # IREE's host takes numbers below the least normal one for 0.
    least = np.finfo(np.float64).smallest_normal
    return tuple(np.where(np.abs(each) < least, np.copysign(0.0, each), each) for each in (x, y))


class FunctionsTest(support.FolderTest):
    def test_all_kinds_of_numbers(self) -> None:
        x, y = _numbers()
        with np.errstate(all="ignore"):
            wanted = [np.sin(x), np.cos(x), np.tan(x), np.tanh(x), np.arctan(x), np.arctan2(x, y)]
        got = self.on_host(_FUNCTIONS.replace("T", f"tensor<{x.size}xf64>"), x, y)
        for number, (found, expected) in enumerate(zip(got, wanted, strict=True)):
            with self.subTest(number):
                known = ~np.isnan(expected)
                self.assertTrue(np.array_equal(np.isnan(found), ~known))
                if number == 2:
                    known &= (
                        np.abs(expected) < 1e6
                    )  # Elsewhere it has the digits that a cosine near 0 has.
                np.testing.assert_allclose(found[known], expected[known], 2e-9, 2e-16)
                signs = np.signbit(found[known]), np.signbit(expected[known])
                np.testing.assert_array_equal(*signs)

    def test_without_it_they_are_refused(self) -> None:
        # If this fails, IREE's library has them, and the rewrite can go.
        x = np.ones(4)
        with mock.patch.object(f64_functions, "apply"):
            text = _FUNCTIONS.replace("T", "tensor<4xf64>")
            parts = ("atan2", "cos", "sin", "tanh")
            self.refuses("missing-function", *parts, call=lambda: self.on_host(text, x, x))

    def test_a_model_in_f32_stays(self) -> None:
        self.assertEqual(
            support.rewritten(_INSIDE, f64_functions.apply), support.rewritten(_INSIDE)
        )


if __name__ == "__main__":
    unittest.main()
