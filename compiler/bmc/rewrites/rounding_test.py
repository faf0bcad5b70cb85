"""Quantizing with an addition gives the same bits as rounding."""

from __future__ import annotations

import unittest

import quantization_case
import support

from bmc.rewrites import rounding


class RoundingTest(quantization_case.QuantizationTest):
    rewrites = (rounding.apply,)
    leaves = ("math.roundeven",)

    def test_symmetric(self) -> None:
        self.check(0, -127, 127)

    def test_odd_zero_point(self) -> None:
        self.check(-77, -128, 127)

    def test_ends_as_zero_point(self) -> None:
        self.check(-128, -128, 127)
        self.check(127, -128, 127)

    def test_only_ties_to_even_are_an_addition(self) -> None:
        text = """func.func @f(%x: f32) -> i8 {
  %low = arith.constant -1.280000e+02 : f32
  %high = arith.constant 1.270000e+02 : f32
  %0 = math.MODE %x : f32
  %1 = arith.maxnumf %0, %low : f32
  %2 = arith.minnumf %1, %high : f32
  %3 = arith.fptosi %2 : f32 to i8
  return %3 : i8
}
"""
        for mode, is_addition in (("roundeven", True), ("round", False), ("floor", False)):
            rewritten = support.rewritten(text.replace("MODE", mode), rounding.apply)
            self.assertEqual("bitcast" in rewritten, is_addition, mode)

    def test_unclamped_conversions_are_left_alone(self) -> None:
        text = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xi8> {
  %0 = stablehlo.round_nearest_even %x : tensor<8xf32>
  %1 = stablehlo.convert %0 : (tensor<8xf32>) -> tensor<8xi8>
  return %1 : tensor<8xi8>
}
"""
        rewritten = self.kernels(text)
        self.assertIn("roundeven", rewritten)
        self.assertNotIn("bitcast", rewritten)


if __name__ == "__main__":
    unittest.main()
