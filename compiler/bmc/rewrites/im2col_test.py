"""Tests that a convolution of a one-channel image becomes a matrix product."""

from __future__ import annotations

import unittest

import support

from bmc.rewrites import im2col

_ONE_CHANNEL = """func.func @main(%x: tensor<1x20x10x1xf32>) -> tensor<1x9x4x16xf32> {
  %w = stablehlo.constant dense<1.5> : tensor<4x3x1x16xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x20x10x1xf32>, tensor<4x3x1x16xf32>) -> tensor<1x9x4x16xf32>
  return %0 : tensor<1x9x4x16xf32>
}
"""


# r[y, x, n] = sum over i, j of a[2y + i, 3x + 2j] * b[i, j, n]
_WINDOWS = """func.func @f(%image: tensor<20x30xf32>, %w: tensor<4x3x16xf32>, %init: tensor<9x8x16xf32>)
    -> tensor<9x8x16xf32> {
  %0 = linalg.generic {indexing_maps = [
      affine_map<(y, x, n, i, j) -> (y * 2 + i, x * 3 + j * 2)>,
      affine_map<(y, x, n, i, j) -> (i, j, n)>, affine_map<(y, x, n, i, j) -> (y, x, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%image, %w : tensor<20x30xf32>, tensor<4x3x16xf32>) outs(%init : tensor<9x8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<9x8x16xf32>
  return %0 : tensor<9x8x16xf32>
}
"""


class Im2colTest(support.FolderTest):
    def test_rows_hold_the_pixels_of_the_window(self) -> None:
        text = support.rewritten(_WINDOWS, im2col.apply)
        self.assertIn("affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d2, d1 * 3 + d3 * 2)>", text)
        self.assertIn("tensor<9x8x4x3xf32> into tensor<9x8x12xf32>", text)
        self.assertIn("tensor<4x3x16xf32> into tensor<12x16xf32>", text)

    def test_one_channel_is_gathered_into_a_matrix_product(self) -> None:
        compiled = support.lower_text(_ONE_CHANNEL, self.folder)
        names = [config.op for config in compiled.lowered.configs]
        self.assertIn("matmul_like_36x16x12_f32", names)
        self.assertFalse([name for name in names if name.startswith("conv")])
        # 9 x 4 pixels, 4 x 3 taps, 4 bytes.
        bound = compiled.plan.arena_bytes
        self.assertLess(bound, 4 * (20 * 10 + 9 * 4 * 16) + 9 * 4 * 4 * 3 * 4 + 256)


if __name__ == "__main__":
    unittest.main()
