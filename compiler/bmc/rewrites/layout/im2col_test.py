"""Tests that a convolution of a one-channel image becomes a matrix product."""

from __future__ import annotations

import unittest

import support

from bmc import target
from bmc.rewrites.context import Context
from bmc.rewrites.layout import im2col

_ONE_CHANNEL = """func.func @main(%x: tensor<1x20x10x1xf32>) -> tensor<1x9x4x16xf32> {
  %w = stablehlo.constant dense<1.5> : tensor<4x3x1x16xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x20x10x1xf32>, tensor<4x3x1x16xf32>) -> tensor<1x9x4x16xf32>
  %1 = stablehlo.OP %0 : tensor<1x9x4x16xf32>
  return %1 : tensor<1x9x4x16xf32>
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
        context = Context(target.find("rv64gc"))
        text = support.rewritten(_WINDOWS, im2col.apply, context=context)
        self.assertIn("affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d2, d1 * 3 + d3 * 2)>", text)
        self.assertIn("tensor<9x8x4x3xf32> into tensor<9x8x12xf32>", text)
        self.assertIn("tensor<4x3x16xf32> into tensor<12x16xf32>", text)

    def test_a_kernel_of_our_own_reads_the_image(self) -> None:
        context = Context(target.find(support.ISA))
        text = support.rewritten(_WINDOWS, im2col.apply, context=context)
        self.assertEqual(text, support.rewritten(_WINDOWS))
        self.assertEqual(context.single, {(3, 4, 8, 9, 16)})
        names = self.names("negate")
        self.assertEqual(names, ["conv_9x4x16x4x3_f32"])

    def test_without_such_a_kernel_it_becomes_a_matrix_product(self) -> None:
        """Kernels have no sine, so the model is compiled again."""
        names = self.names("sine")
        self.assertIn("matmul_like_36x16x12_f32", names)
        self.assertFalse([name for name in names if name.startswith("conv")])

    def names(self, op: str) -> list[str]:
        compiled = support.lower_text(_ONE_CHANNEL.replace("OP", op), self.folder / op)
        return [config.op for config in compiled.lowered.configs]


if __name__ == "__main__":
    unittest.main()
