"""Tests transposed convolutions of TensorFlow Lite against NumPy."""

from __future__ import annotations

import unittest

import numpy as np
import support

from bmc.rewrites.layout import split_channels

_MODEL = """func.func @main(%x: tensor<1x4x5x3xi8>) -> tensor<1x8x15x8xi32> {{
  %w = "tosa.const"() <{{values = dense<"0x{w}"> : tensor<8x2x3x3xi8>}}> : () -> tensor<8x2x3x3xi8>
  %b = "tosa.const"() <{{values = dense<"0x{b}"> : tensor<8xi32>}}> : () -> tensor<8xi32>
  %xz = "tosa.const"() <{{values = dense<-5> : tensor<1xi8>}}> : () -> tensor<1xi8>
  %wz = "tosa.const"() <{{values = dense<0> : tensor<1xi8>}}> : () -> tensor<1xi8>
  %0 = "tosa.transpose_conv2d"(%x, %w, %b, %xz, %wz) <{{
      acc_type = i32, out_pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 3>}}>
    : (tensor<1x4x5x3xi8>, tensor<8x2x3x3xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x8x15x8xi32>
  return %0 : tensor<1x8x15x8xi32>
}}
"""
# A product whose channels are split, and read in the order in which they are.
_IN_ORDER = """util.func @main(%x: tensor<4x3xf32>, %w: tensor<3x16xf32>) -> tensor<4x2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x16xf32>) -> tensor<4x16xf32>
  %product = linalg.generic {
      indexing_maps = [
          affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x3xf32>, tensor<3x16xf32>) outs(%fill : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %ab = arith.mulf %a, %b : f32
    %sum = arith.addf %old, %ab : f32
    linalg.yield %sum : f32
  } -> tensor<4x16xf32>
  %split = tensor.expand_shape %product [[0], [1, 2]] output_shape [4, 2, 8] : tensor<4x16xf32> into tensor<4x2x8xf32>
  %none = tensor.empty() : tensor<RESULT>
  %result = linalg.generic {
      indexing_maps = [affine_map<(a, b, c) -> (READ)>, affine_map<(a, b, c) -> (a, b, c)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%split : tensor<4x2x8xf32>) outs(%none : tensor<RESULT>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.negf %a : f32
    linalg.yield %r : f32
  } -> tensor<RESULT>
  util.return %result : tensor<RESULT>
}
"""


class SplitChannelsTest(support.OptimizedTest):
    def test_phases_are_loops_of_the_product(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.integers(-128, 128, (4, 5, 3)).astype(np.int8)
        w = rng.integers(-128, 128, (8, 2, 3, 3)).astype(np.int8)
        b = rng.integers(-1000, 1000, 8).astype(np.int32)
        text = _MODEL.format(w=w.tobytes().hex(), b=b.tobytes().hex())
        rewritten = self.rewritten(text, split_channels.apply)
        self.assertIn("tensor<4x5x3xi8>, tensor<2x3x8x3xi8>) outs", rewritten)
        sums = np.einsum("yxc,npqc->ypxqn", x.astype(np.int32) + 5, w.astype(np.int32)) + b
        (got,) = self.run_rewritten(x[None])
        np.testing.assert_array_equal(got, sums.reshape(8, 15, 8))

    def test_others_stay_as_they_are(self) -> None:
        for read, result, changes in (
            ("b, a, c", "2x4x8xf32", True),
            ("a, b, c", "4x2x8xf32", False),
        ):
            text = _IN_ORDER.replace("READ", read).replace("RESULT", result)
            text = text.replace("-> tensor<4x2x8xf32> {", f"-> tensor<{result}> {{", 1)
            after = support.rewritten(text, split_channels.apply)
            self.assertEqual(after != support.rewritten(text), changes)


if __name__ == "__main__":
    unittest.main()
