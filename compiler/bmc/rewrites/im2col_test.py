"""Tests that a convolution of a one-channel image becomes a matrix product."""

from __future__ import annotations

import unittest

import support

_ONE_CHANNEL = """func.func @main(%x: tensor<1x20x10x1xf32>) -> tensor<1x9x4x16xf32> {
  %w = stablehlo.constant dense<1.5> : tensor<4x3x1x16xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x20x10x1xf32>, tensor<4x3x1x16xf32>) -> tensor<1x9x4x16xf32>
  return %0 : tensor<1x9x4x16xf32>
}
"""


class Im2colTest(support.FolderTest):
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
