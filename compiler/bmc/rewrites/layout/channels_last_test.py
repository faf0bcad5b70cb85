"""Tests that convolutions become channels-last and their kernels use vectors."""

from __future__ import annotations

import unittest

import convolutions
import support
from iree.compiler import ir

from bmc import target
from bmc.ir import ir_util, permute
from bmc.rewrites.context import Context
from bmc.rewrites.layout import channels_last

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

# A max pooling that moves two pixels at a time, channels-first as in PyTorch.
_POOLING = """util.func @f(%image: tensor<8x9x7xf32>) -> tensor<8x4x3xf32> {
  %least = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<3x3xf32>
  %empty = tensor.empty() : tensor<8x4x3xf32>
  %init = linalg.fill ins(%least : f32) outs(%empty : tensor<8x4x3xf32>) -> tensor<8x4x3xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(c, y, x, i, j) -> (c, y * 2 + i, x * 2 + j)>,
      affine_map<(c, y, x, i, j) -> (i, j)>, affine_map<(c, y, x, i, j) -> (c, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%image, %window : tensor<8x9x7xf32>, tensor<3x3xf32>) outs(%init : tensor<8x4x3xf32>) {
  ^bb0(%a: f32, %b: f32, %most: f32):
    %next = arith.maximumf %most, %a : f32
    linalg.yield %next : f32
  } -> tensor<8x4x3xf32>
  util.return %0 : tensor<8x4x3xf32>
}
"""

# A signal of one channel, of which each pixel reads a window STEP behind the one before.
_SIGNAL = """util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<CHANNELSx16xi8>
util.func @f(%signal: tensor<INxi8>) -> tensor<CHANNELSx64xi32> {
  %w = util.global.load immutable @w : tensor<CHANNELSx16xi8>
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<CHANNELSx64xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<CHANNELSx64xi32>) -> tensor<CHANNELSx64xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(c, x, i) -> (x * STEP + i)>,
      affine_map<(c, x, i) -> (c, i)>, affine_map<(c, x, i) -> (c, x)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%signal, %w : tensor<INxi8>, tensor<CHANNELSx16xi8>) outs(%init : tensor<CHANNELSx64xi32>) {
  ^bb0(%a: i8, %b: i8, %sum: i32):
    %c = arith.extsi %a : i8 to i32
    %d = arith.extsi %b : i8 to i32
    %product = arith.muli %c, %d : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  } -> tensor<CHANNELSx64xi32>
  util.return %0 : tensor<CHANNELSx64xi32>
}
"""


class RewriteTest(support.FolderTest):
    def test_a_signal_has_channels_last_where_that_is_faster(self) -> None:
        """Windows far from each other and many channels: lanes are channels. Otherwise they are pixels."""
        for step, channels, isa, axes in (
            (4, 64, support.ISA, {"w": (1, 0)}),
            (1, 8, support.ISA, {}),
            (4, 64, "rv64gc", {}),
        ):
            text = _SIGNAL.replace("STEP", str(step)).replace("CHANNELS", str(channels))
            text = text.replace("IN", str(63 * step + 16))
            context = Context(target.find(isa))
            rewritten = support.rewritten(text, channels_last.apply, context=context)
            self.assertEqual(context.permutations, axes)
            self.assertEqual(f"outs(%2 : tensor<64x{channels}xi32>)" in rewritten, bool(axes))

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

    def test_weight_of_two_convolutions_is_left_alone(self) -> None:
        first, second = (_CHANNELS_FIRST.index(part) for part in ("  %2 = ", "  util.return"))
        product = _CHANNELS_FIRST[first:second]
        other = product.replace("  %2 = ", "  %3 = ").replace("ins(%1", "ins(%0")
        text = _CHANNELS_FIRST[:second] + other + _CHANNELS_FIRST[second:]
        text = text.replace(
            "-> tensor<16x4x5xf32> {", "-> (tensor<16x4x5xf32>, tensor<16x4x5xf32>) {", 1
        )
        text = text.replace(
            "return %2 : tensor<16x4x5xf32>",
            "return %2, %3 : tensor<16x4x5xf32>, tensor<16x4x5xf32>",
        )
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

    def test_pooling_has_channels_last(self) -> None:
        context = Context(target.find(support.ISA))
        text = support.rewritten(_POOLING, channels_last.apply, context=context)
        with ir.Context():
            module = ir.Module.parse(text)
            _, pooling, *_ = ir_util.all_of(module, "linalg.generic")
            self.assertEqual(str(pooling.operands[0].type), "tensor<9x7x8xf32>")
            self.assertEqual(str(pooling.results[0].type), "tensor<4x3x8xf32>")
            maps = [str(each) for each in permute.maps(pooling)]
        self.assertEqual(
            maps,
            [
                "(d0, d1, d2, d3, d4) -> (d0 * 2 + d3, d1 * 2 + d4, d2)",
                "(d0, d1, d2, d3, d4) -> (d3, d4)",
                "(d0, d1, d2, d3, d4) -> (d0, d1, d2)",
            ],
        )

    def test_pooling_that_does_anything_else_is_left_alone(self) -> None:
        for old, new in (
            # A window that is read, or a body that counts the loops.
            (
                "%window = tensor.empty() : tensor<3x3xf32>",
                "%window = arith.constant dense<1.0> : tensor<3x3xf32>",
            ),
            ("    %next = ", "    %y = linalg.index 1 : index\n    %next = "),
            # Windows that are read the other way around.
            ("(c, y * 2 + i, x * 2 + j)>", "(c, y * 2 + j, x * 2 + i)>"),
        ):
            self.assertIn(old, _POOLING)
            text = _POOLING.replace(old, new)
            context = Context(target.find(support.ISA))
            rewritten = support.rewritten(text, channels_last.apply, context=context)
            self.assertEqual(rewritten.count("linalg.generic"), 1, new)


class KernelTest(support.FolderTest):
    # As from PyTorch: everything is channels-first, and the image is the model's input.
    MODEL = convolutions.text("f32", 32).replace("[b, 0, 1, f]", "[b, f, 0, 1]")
    MODEL = MODEL.replace("1x18x18x16x", "1x16x18x18x").replace("1x16x16x32x", "1x32x16x16x")
    # Every second pixel of a window, which gives 14 by 14 results.
    DILATED = (
        convolutions.text("f32", 32)
        .replace("stride = [1, 1]", "stride = [1, 1], rhs_dilate = [2, 2]")
        .replace("1x16x16x32x", "1x14x14x32x")
    )

    def multiply_adds(self, text: str, *without: str) -> int:
        """Returns how many instructions of IREE's kernel multiply a vector by a scalar and add."""
        with support.without("own_kernels", "planar", *without):
            words = convolutions.words(text, self.folder)
        return convolutions.count(words, convolutions.VFMACC_VF)

    def test_image_with_channels_first_is_turned_around_and_read_in_vectors(self) -> None:
        self.assertGreater(self.multiply_adds(self.MODEL), 0)
        self.assertEqual(self.multiply_adds(self.MODEL, "channels_last"), 0)

    def test_dilated_convolution_is_read_in_vectors(self) -> None:
        self.assertGreater(self.multiply_adds(self.DILATED), 0)
        first = self.DILATED.replace("[b, 0, 1, f]", "[b, f, 0, 1]")
        first = first.replace("1x18x18x16x", "1x16x18x18x").replace("1x14x14x32x", "1x32x14x14x")
        self.assertGreater(self.multiply_adds(first), 0)


if __name__ == "__main__":
    unittest.main()
