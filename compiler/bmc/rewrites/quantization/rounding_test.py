"""Quantizing with an addition gives the same bits as rounding."""

from __future__ import annotations

import unittest

import numpy as np
import quantization_case
import support

from bmc.rewrites.quantization import rounding

_SIZE = 2048
# What IREE makes of a quantization and the dequantization behind it, in one kernel.
_THERE_AND_BACK = """
func.func @main(%x: tensor<SIZExf32>) -> tensor<SIZExf32> {
  %scale = arith.constant 0.1 : f32
  %shift = arith.constant ZERO_POINT.0 : f32
  %low = arith.constant -128.0 : f32
  %high = arith.constant 127.0 : f32
  %point = arith.constant ZERO_POINT : i16
  %empty = tensor.empty() : tensor<SIZExf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<SIZExf32>) outs(%empty : tensor<SIZExf32>) {
  ^bb0(%a: f32, %old: f32):
    %0 = arith.divf %a, %scale : f32
    %1 = math.roundeven %0 : f32
    %2 = arith.addf %1, %shift : f32
    %3 = arith.maxnumf %2, %low : f32
    %4 = arith.minnumf %3, %high : f32
    %5 = arith.fptosi %4 : f32 to i8
    %6 = arith.extsi %5 : i8 to i16
    %7 = arith.subi %6, %point : i16
    %8 = arith.sitofp %7 : i16 to f32
    %9 = arith.mulf %8, %scale : f32
    linalg.yield %9 : f32
  } -> tensor<SIZExf32>
  return %y : tensor<SIZExf32>
}
""".replace("SIZE", str(_SIZE))


class RoundingTest(quantization_case.QuantizationTest):
    rewrites = (rounding.apply,)
    leaves = ("math.roundeven",)

    def test_symmetric(self) -> None:
        self.check(0, -127, 127)

    def test_odd_zero_point(self) -> None:
        self.check(-77, -128, 127)

    def test_even_zero_points_are_part_of_the_addition(self) -> None:
        for zero_point, is_added in ((-78, False), (126, False), (-77, True)):
            self.check(zero_point, -128, 127)
            text = (self.folder / "rewritten.mlir").read_text(encoding="utf-8")
            self.assertEqual("arith.addi" in text, is_added, zero_point)

    def test_there_and_back_without_integers(self) -> None:
        scale = np.float32(0.1)
        x = (np.arange(_SIZE) - _SIZE // 2).astype(np.float32) * np.float32(0.5) * scale
        for zero_point in (0, -128, 13, 40):
            text = self.kernels(_THERE_AND_BACK.replace("ZERO_POINT", str(zero_point)))
            self.assertNotIn("sitofp", text)
            self.assertIn("arith.subf", text)
            want = np.clip(np.rint(x / scale), -128 - zero_point, 127 - zero_point) * scale
            np.testing.assert_array_equal(self.run_rewritten(x), want)

    def test_another_zero_point_takes_integers(self) -> None:
        text = _THERE_AND_BACK.replace("ZERO_POINT : i16", "3 : i16").replace("ZERO_POINT", "40")
        self.assertIn("sitofp", self.kernels(text))

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
