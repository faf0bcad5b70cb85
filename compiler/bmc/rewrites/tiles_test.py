"""Tests the tile sizes that bmc chooses, and the kernels that result."""

from __future__ import annotations

import unittest
from unittest import mock

import support
from iree.compiler import ir

from bmc import target
from bmc.elf.kernels import load
from bmc.ir import ir_util
from bmc.rewrites import channels_last, views
from bmc.rewrites.context import Config, Context

_CONVOLUTION = """func.func @main(%x: tensor<1x{size}x{size}x16x{t}>) -> tensor<1x{out}x{out}x{n}x{sum}> {{
  %w = stablehlo.constant {weight} : tensor<3x3x16x{n}x{t}>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [{stride}, {stride}]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<1x{size}x{size}x16x{t}>, tensor<3x3x16x{n}x{t}>) -> tensor<1x{out}x{out}x{n}x{sum}>
  return %0 : tensor<1x{out}x{out}x{n}x{sum}>
}}
"""
_DEPTHWISE = """func.func @main(%x: tensor<1x18x18x64xf32>) -> tensor<1x16x16x64xf32> {
  %w = stablehlo.constant dense<1.5> : tensor<3x3x1x64xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {} {batch_group_count = 1 : i64, feature_group_count = 64 : i64}
    : (tensor<1x18x18x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x16x16x64xf32>
  return %0 : tensor<1x16x16x64xf32>
}
"""


def convolution(element: str, channels: int, size: int = 18, stride: int = 1) -> str:
    is_float = element.startswith("f")
    return _CONVOLUTION.format(
        t=element,
        sum=element if is_float else "i32",
        weight="dense<1.5>" if is_float else "dense<3>",
        n=channels,
        size=size,
        out=(size - 3) // stride + 1,
        stride=stride,
    )


class TilesTest(support.FolderTest):
    def config(self, text: str, isa: str = support.ISA) -> Config:
        configs_ = support.lower_text(text, self.folder, isa).lowered.configs
        return next(c for c in configs_ if "conv" in c.function)

    def test_convolution_is_pixels_by_channels_with_the_taps_of_a_row_unrolled(self) -> None:
        for element in ("f32", "i8"):
            for channels, tile in ((64, (1, 1, 2, 64)), (32, (1, 1, 4, 32)), (16, (1, 1, 8, 16))):
                chosen = self.config(convolution(element, channels))
                self.assertEqual(chosen.origin, "bmc")
                sizes = chosen.applied["vector_common_parallel"]
                self.assertEqual(sizes, (*tile, 0, 0, 0), f"{element} {channels}")
                self.assertEqual(chosen.applied["vector_reduction"], (0, 0, 0, 0, 1, 3, 1))

    def test_pixels_of_a_strided_convolution_share_no_taps(self) -> None:
        chosen = self.config(convolution("i8", 32, size=17, stride=2))
        self.assertEqual(chosen.applied["vector_reduction"], (0, 0, 0, 0, 1, 1, 1))

    def test_tiles_divide_the_loops(self) -> None:
        # 15 pixels by 24 channels become tiles of 5 pixels by 8 channels, the largest power of two in 24.
        sizes = self.config(convolution("f32", 24, size=17)).applied["vector_common_parallel"]
        self.assertEqual((15 % sizes[2], 24 % sizes[3]), (0, 0))
        self.assertEqual(sizes[3], 8)

    def test_few_channels_are_left_to_iree(self) -> None:
        self.assertEqual(self.config(convolution("f32", 6)).origin, "iree")

    def test_depthwise_convolution_is_one_pixel_by_a_register_group(self) -> None:
        sizes = self.config(_DEPTHWISE).applied["vector_common_parallel"]
        self.assertEqual(sizes, (1, 1, 1, 64, 0, 0))
        sizes = self.config(_DEPTHWISE, "rv64gcv_zvl128b").applied["vector_common_parallel"]
        self.assertEqual(sizes, (1, 1, 1, 32, 0, 0))
        # There are twice as many lanes as channels, so a tile has two pixels.
        sizes = self.config(_DEPTHWISE, "rv64gcv_zvl512b").applied["vector_common_parallel"]
        self.assertEqual(sizes, (1, 1, 2, 64, 0, 0))


_ONE_CHANNEL = """func.func @main(%x: tensor<1x20x10x1xf32>) -> tensor<1x9x4x16xf32> {
  %w = stablehlo.constant dense<1.5> : tensor<4x3x1x16xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x20x10x1xf32>, tensor<4x3x1x16xf32>) -> tensor<1x9x4x16xf32>
  return %0 : tensor<1x9x4x16xf32>
}
"""
_STORE = """func.func @f(%value: tensor<1x8x4x16xi8>,
    %buffer: memref<8x4x16xi8, strided<[96, 16, 1], offset: 112>>) {
  %true = arith.constant true
  %empty = tensor.empty() : tensor<8x4x16xi8>
  %0 = iree_linalg_ext.map_store %value into %empty {
  ^bb0(%n: index, %y: index, %x: index, %c: index):
    %row = affine.linearize_index disjoint [%n, ROW] by (1, 8) : index
    iree_linalg_ext.yield %row, COLUMN, %c, %true : index, index, index, i1
  } : tensor<1x8x4x16xi8> into tensor<8x4x16xi8> -> tensor<8x4x16xi8>
  iree_codegen.store_to_buffer %0, %buffer : tensor<8x4x16xi8>
    into memref<8x4x16xi8, strided<[96, 16, 1], offset: 112>>
  return
}
"""


class ViewsTest(support.FolderTest):
    def rewritten(self, row: str, column: str) -> str:
        return support.rewritten(_STORE.replace("ROW", row).replace("COLUMN", column), views.apply)

    def test_result_is_stored_through_a_view_with_the_lost_dimension(self) -> None:
        text = self.rewritten("%y", "%x")
        self.assertNotIn("map_store", text)
        self.assertIn("memref<1x8x4x16xi8, strided<[768, 96, 16, 1], offset: 112>>", text)

    def test_anything_but_a_reshape_is_left_alone(self) -> None:
        self.assertIn("map_store", self.rewritten("%x", "%y"))


class WindowsTest(support.FolderTest):
    def test_one_channel_is_gathered_into_a_matrix_product(self) -> None:
        compiled = support.lower_text(_ONE_CHANNEL, self.folder)
        names = [config.op for config in compiled.lowered.configs]
        self.assertIn("matmul_like_36x16x12_f32", names)
        self.assertFalse([name for name in names if name.startswith("conv")])
        # 9 x 4 pixels, 4 x 3 taps, 4 bytes.
        bound = compiled.plan.arena_bytes
        self.assertLess(bound, 4 * (20 * 10 + 9 * 4 * 16) + 9 * 4 * 4 * 3 * 4 + 256)


# A depthwise convolution, then a 1x1 convolution, both channels-first as in ONNX.
_CHANNELS_FIRST = """util.global private @w0 = #flow.parameter.named<"model"::"w0"> : tensor<8x3x3xf32>
util.global private @w1 = #flow.parameter.named<"model"::"w1"> : tensor<16x8xf32>
util.func @f(%image: tensor<8x6x7xf32>) -> tensor<16x4x5xf32> {
  %w0 = util.global.load immutable @w0 : tensor<8x3x3xf32>
  %w1 = util.global.load immutable @w1 : tensor<16x8xf32>
  %zero = arith.constant 0.0 : f32
  %empty0 = tensor.empty() : tensor<8x4x5xf32>
  %init0 = linalg.fill ins(%zero : f32) outs(%empty0 : tensor<8x4x5xf32>) -> tensor<8x4x5xf32>
  %empty1 = tensor.empty() : tensor<16x4x5xf32>
  %init1 = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<16x4x5xf32>) -> tensor<16x4x5xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(c, y, x, i, j) -> (c, y + i, x + j)>,
      affine_map<(c, y, x, i, j) -> (c, i, j)>, affine_map<(c, y, x, i, j) -> (c, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%image, %w0 : tensor<8x6x7xf32>, tensor<8x3x3xf32>) outs(%init0 : tensor<8x4x5xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<8x4x5xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(c, y, x) -> (c, y, x)>,
      affine_map<(c, y, x) -> (c, y, x)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%0 : tensor<8x4x5xf32>) outs(%empty0 : tensor<8x4x5xf32>) {
  ^bb0(%a: f32, %out: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<8x4x5xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(n, y, x, k) -> (k, y, x)>,
      affine_map<(n, y, x, k) -> (n, k)>, affine_map<(n, y, x, k) -> (n, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%1, %w1 : tensor<8x4x5xf32>, tensor<16x8xf32>) outs(%init1 : tensor<16x4x5xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<16x4x5xf32>
  util.return %2 : tensor<16x4x5xf32>
}
"""


class ChannelsLastTest(support.FolderTest):
    def test_convolutions_and_what_is_between_them_have_channels_last(self) -> None:
        context = Context(target.find(support.ISA))
        text = support.rewritten(_CHANNELS_FIRST, channels_last.apply, context=context)
        self.assertEqual(context.permutations, {"w0": (1, 2, 0), "w1": (1, 0)})
        with ir.Context():
            module = ir.Module.parse(text)
            generics = ir_util.all_of(module, "linalg.generic")
            results = [str(op.results[0].type) for op in generics]
        # Only the image and the result are transposed, nothing in between.
        self.assertEqual(
            results,
            [
                "tensor<6x7x8xf32>",
                "tensor<4x5x8xf32>",
                "tensor<4x5x8xf32>",
                "tensor<4x5x16xf32>",
                "tensor<16x4x5xf32>",
            ],
        )

    def test_convolution_whose_weights_are_computed_is_left_alone(self) -> None:
        load = "util.global.load immutable @w1 : tensor<16x8xf32>"
        self.assertIn(load, _CHANNELS_FIRST)
        text = _CHANNELS_FIRST.replace(load, "tensor.empty() : tensor<16x8xf32>")
        context = Context(target.find(support.ISA))
        support.rewritten(text, channels_last.apply, context=context)
        self.assertEqual(context.permutations, {"w0": (1, 2, 0)})

    def test_a_body_that_counts_the_loops_is_left_alone(self) -> None:
        product = "    %product = arith.mulf %a, %b : f32\n"
        self.assertIn(product, _CHANNELS_FIRST)
        counts = "    %y = linalg.index 1 : index\n" + product
        context = Context(target.find(support.ISA))
        support.rewritten(
            _CHANNELS_FIRST.replace(product, counts), channels_last.apply, context=context
        )
        self.assertEqual(context.permutations, {})


class KernelTest(support.FolderTest):
    """Looks at the code itself. Opcodes are instruction words, so this needs no disassembler."""

    # Masks and matches of whole instruction words. The other bits are registers and vm.
    VWMACC_VX = (0xFC00707F, 0xF4006057)
    VFMACC_VF = (0xFC00707F, 0xB0005057)
    VRGATHER = (0xFC00707F, 0x30003057)
    # As from PyTorch: everything is channels-first, and the image is the model's input.
    CHANNELS_FIRST = convolution("f32", 32).replace("[b, 0, 1, f]", "[b, f, 0, 1]")
    CHANNELS_FIRST = CHANNELS_FIRST.replace("1x18x18x16x", "1x16x18x18x")
    CHANNELS_FIRST = CHANNELS_FIRST.replace("1x16x16x32x", "1x32x16x16x")

    def words(self, text: str) -> list[int]:
        program = support.lower_text(text, self.folder).lowered.program
        assert program.executable is not None
        code = load(program.executable, target.find(support.ISA))
        image = code.image
        # Instructions are at even addresses and take two or four bytes.
        return [int.from_bytes(image[i : i + 4], "little") for i in range(0, len(image) - 3, 2)]

    def count(self, words: list[int], pattern: tuple[int, int]) -> int:
        mask, match = pattern
        return sum((word & mask) == match for word in words)

    def test_int8_factors_are_scalars_of_widening_multiply_adds(self) -> None:
        words = self.words(convolution("i8", 32))
        # 4 pixels and 3 taps.
        self.assertEqual(self.count(words, self.VWMACC_VX), 12)
        self.assertEqual(self.count(words, self.VRGATHER), 0)

    def test_without_the_stage_factors_are_gathered(self) -> None:
        with mock.patch(
            "bmc.rewrites.scalar_operands._only_single_elements_are_read", return_value=False
        ):
            words = self.words(convolution("i8", 32))
        self.assertGreater(self.count(words, self.VRGATHER), 0)

    def test_image_with_channels_first_is_turned_around_and_read_in_vectors(self) -> None:
        self.assertGreater(self.count(self.words(self.CHANNELS_FIRST), self.VFMACC_VF), 0)

    # Every second pixel of a window, which gives 14 by 14 results.
    DILATED = (
        convolution("f32", 32)
        .replace("stride = [1, 1]", "stride = [1, 1], rhs_dilate = [2, 2]")
        .replace("1x16x16x32x", "1x14x14x32x")
    )

    def test_dilated_convolution_is_read_in_vectors(self) -> None:
        self.assertGreater(self.count(self.words(self.DILATED), self.VFMACC_VF), 0)
        first = self.DILATED.replace("[b, 0, 1, f]", "[b, f, 0, 1]")
        first = first.replace("1x18x18x16x", "1x16x18x18x").replace("1x14x14x32x", "1x32x14x14x")
        self.assertGreater(self.count(self.words(first), self.VFMACC_VF), 0)

    # A window of one column.
    COLUMN = (
        convolution("f32", 32).replace("3x3x16x", "3x1x16x").replace("1x16x16x32", "1x16x18x32")
    )

    def test_window_of_one_column_is_read_in_vectors(self) -> None:
        self.assertGreater(self.count(self.words(self.COLUMN), self.VFMACC_VF), 0)

    def test_without_the_exchange_one_number_is_computed_at_a_time(self) -> None:
        with mock.patch("bmc.rewrites.row_windows._column", return_value=None):
            words = self.words(self.COLUMN)
        self.assertEqual(self.count(words, self.VFMACC_VF), 0)

    def test_without_the_stage_one_number_is_computed_at_a_time(self) -> None:
        with mock.patch("bmc.rewrites.channels_last._turns_around", return_value=False):
            words = self.words(self.CHANNELS_FIRST)
        self.assertEqual(self.count(words, self.VFMACC_VF), 0)


if __name__ == "__main__":
    unittest.main()
