"""Tests the tile sizes of convolutions."""

from __future__ import annotations

import unittest

import convolutions
import support

from bmc.rewrites.context import Config

_DEPTHWISE = """func.func @main(%x: tensor<1x18x18x64xf32>) -> tensor<1x16x16x64xf32> {
  %w = stablehlo.constant dense<1.5> : tensor<3x3x1x64xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {} {batch_group_count = 1 : i64, feature_group_count = 64 : i64}
    : (tensor<1x18x18x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x16x16x64xf32>
  return %0 : tensor<1x16x16x64xf32>
}
"""


class ProductsTest(support.FolderTest):
    def config(self, text: str, isa: str = support.ISA) -> Config:
        configs_ = support.lower_text(text, self.folder, isa).lowered.configs
        return next(c for c in configs_ if "conv" in c.function)

    def test_convolution_is_pixels_by_channels_with_the_taps_of_a_row_unrolled(self) -> None:
        for element in ("f32", "i8"):
            for channels, tile in ((64, (1, 1, 2, 64)), (32, (1, 1, 4, 32)), (16, (1, 1, 8, 16))):
                chosen = self.config(convolutions.text(element, channels))
                self.assertEqual(chosen.origin, "bmc")
                sizes = chosen.applied["vector_common_parallel"]
                self.assertEqual(sizes, (*tile, 0, 0, 0), f"{element} {channels}")
                self.assertEqual(chosen.applied["vector_reduction"], (0, 0, 0, 0, 1, 3, 1))

    def test_pixels_of_a_strided_convolution_share_no_taps(self) -> None:
        chosen = self.config(convolutions.text("i8", 32, size=17, stride=2))
        self.assertEqual(chosen.applied["vector_reduction"], (0, 0, 0, 0, 1, 1, 1))

    def test_tiles_divide_the_loops(self) -> None:
        # 15 pixels by 24 channels become tiles of 5 pixels by 8 channels, the largest power of two in 24.
        sizes = self.config(convolutions.text("f32", 24, size=17)).applied["vector_common_parallel"]
        self.assertEqual((15 % sizes[2], 24 % sizes[3]), (0, 0))
        self.assertEqual(sizes[3], 8)

    def test_few_channels_are_left_to_iree(self) -> None:
        self.assertEqual(self.config(convolutions.text("f32", 6)).origin, "iree")

    def test_depthwise_convolution_is_one_pixel_by_a_register_group(self) -> None:
        sizes = self.config(_DEPTHWISE).applied["vector_common_parallel"]
        self.assertEqual(sizes, (1, 1, 1, 64, 0, 0))
        sizes = self.config(_DEPTHWISE, "rv64gcv_zvl128b").applied["vector_common_parallel"]
        self.assertEqual(sizes, (1, 1, 1, 32, 0, 0))
        # There are twice as many lanes as channels, so a tile has two pixels.
        sizes = self.config(_DEPTHWISE, "rv64gcv_zvl512b").applied["vector_common_parallel"]
        self.assertEqual(sizes, (1, 1, 2, 64, 0, 0))


if __name__ == "__main__":
    unittest.main()
