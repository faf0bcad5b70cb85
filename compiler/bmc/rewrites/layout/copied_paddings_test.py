"""Tests which paddings are read by a kernel, and which are copied."""

from __future__ import annotations

import unittest

import support

from bmc import target
from bmc.compile import CompileOptions, rewrite_until
from bmc.rewrites.context import Context
from bmc.rewrites.decisions import Decisions
from bmc.rewrites.layout import copied_paddings

_PADDED = """util.func @main(%x: tensor<8x8x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<8x8x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1, 1, 0] high[1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %c0 : f32
  } : tensor<8x8x16xf32> to tensor<10x10x16xf32>
  %wide = tensor.expand_shape %p [[0, 1], [2], [3]] output_shape [1, 10, 10, 16]
    : tensor<10x10x16xf32> into tensor<1x10x10x16xf32>
  %e = tensor.empty() : tensor<1x8x8x32xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%e : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%wide, %w : tensor<1x10x10x16xf32>, tensor<3x3x16x32xf32>)
    outs(%z : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  MORE
  %r = tensor.collapse_shape %y [[0, 1], [2], [3]] : tensor<1x8x8x32xf32> into tensor<8x8x32xf32>
  util.return %r : tensor<8x8x32xf32>
}
"""
_TWICE = "util.optimization_barrier %p : tensor<10x10x16xf32>"
_NETWORK = """func.func @main(%x: tensor<1x8x8x16xf32>) -> tensor<1x8x8x32xf32> {
  %w = stablehlo.constant dense<1.5> : tensor<3x3x16x32xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x8x8x16xf32>, tensor<3x3x16x32xf32>) -> tensor<1x8x8x32xf32>
  %1 = stablehlo.OP %0 : tensor<1x8x8x32xf32>
  return %1 : tensor<1x8x8x32xf32>
}
"""


class BordersTest(support.FolderTest):
    def barriers(self, more: str = "", context: Context | None = None) -> int:
        text = support.rewritten(
            _PADDED.replace("MORE", more), copied_paddings.apply, context=context
        )
        return text.count("compute_barrier.start")

    def test_one_convolution_reads_through_the_padding(self) -> None:
        self.assertEqual(self.barriers(), 0)

    def test_what_is_copied(self) -> None:
        self.assertEqual(self.barriers(_TWICE), 1)
        shape = (3, 3, 8, 8, 16, 32)
        copied = Context(target.find(support.ISA), decisions=Decisions(copied=frozenset({shape})))
        self.assertEqual(self.barriers(context=copied), 1)

    def test_an_image_of_a_size_that_only_the_target_knows_stays(self) -> None:
        module = """util.func @main(%x: tensor<3x8xf32>, %size: index) -> tensor<?x8xf32> {
          %c0 = arith.constant 0.0 : f32
          %p = tensor.pad %x low[%size, 0] high[0, 0] {
          ^bb0(%i: index, %j: index):
            tensor.yield %c0 : f32
          } : tensor<3x8xf32> to tensor<?x8xf32>
          util.return %p : tensor<?x8xf32>
        }
        """
        self.assertNotIn("barrier", support.rewritten(module, copied_paddings.apply))

    def test_an_image_in_another_shape(self) -> None:
        """Its axes change in no kernel, so the padding stays where the convolution reads it."""
        flat = _PADDED.replace("%x: tensor<8x8x16xf32>", "%flat: tensor<8x8x1x16xf32>").replace(
            "  %p =",
            """  %x = tensor.collapse_shape %flat [[0], [1], [2, 3]] : tensor<8x8x1x16xf32> into tensor<8x8x16xf32>
  %p =""",
        )
        text = support.rewritten(flat.replace("MORE", ""), copied_paddings.apply)
        self.assertEqual(text.count("compute_barrier.start"), 1)
        self.assertLess(text.index("compute_barrier.start"), text.index("tensor.pad"))

    def test_a_kernel_that_is_not_ours_reads_a_copy(self) -> None:
        """Whether there is one is known later. Then the model is compiled again."""
        for op, padded in (("negate", 1), ("log", 0)):
            model = support.import_text(_NETWORK.replace("OP", op), self.folder / op)
            options = CompileOptions(
                "m", target.find(support.ISA), self.folder / f"out_{op}", stop_after="own_kernels"
            )
            text = rewrite_until(model, options).read_text(encoding="utf-8")
            self.assertEqual(text.count("func.func @main_dispatch"), 1 if padded else 2, op)

    def test_the_image_has_no_padded_copy(self) -> None:
        lowered = support.lower_text(_NETWORK.replace("OP", "negate"), self.folder / "own")
        self.assertEqual(lowered.kinds, ["DISPATCH"])
        with support.without("copied_paddings"):
            lowered = support.lower_text(_NETWORK.replace("OP", "negate"), self.folder / "copied")
        self.assertEqual(lowered.kinds, ["FILL", "DISPATCH", "DISPATCH"])


if __name__ == "__main__":
    unittest.main()
