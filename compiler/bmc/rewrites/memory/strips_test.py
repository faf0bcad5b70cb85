"""Tests that a model in strips computes what it computes whole."""

from __future__ import annotations

import re
import unittest
from typing import Any

import numpy as np
import support

from bmc import target
from bmc.rewrites.context import Context
from bmc.rewrites.layout import channels_last, channels_last_between, max_poolings
from bmc.rewrites.memory import strip_kernels, strips
from bmc.strips.search import Cut

_CONVOLUTION = """  %{name} = stablehlo.convolution({x}, {w}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [{s}, {s}], pad = [[1, 1], [1, 1]]}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<1x{h}x10x8xf32>, tensor<3x3x8x8xf32>) -> tensor<1x{ho}x{wo}x8xf32>
"""
# Two convolutions with a residual, a third one with a stride, and whole numbers, so that no order of sums matters.
_MODEL = (
    "func.func @main(%x: tensor<1x12x10x8xf32>, %w: tensor<3x3x8x8xf32>) -> tensor<1x6x5x8xf32> {\n"
    + _CONVOLUTION.format(name=0, x="%x", w="%w", s=1, h=12, ho=12, wo=10)
    + "  %2 = stablehlo.round_nearest_even %0 : tensor<1x12x10x8xf32>\n"
    + _CONVOLUTION.format(name=3, x="%2", w="%w", s=1, h=12, ho=12, wo=10)
    + "  %4 = stablehlo.add %2, %3 : tensor<1x12x10x8xf32>\n"
    + _CONVOLUTION.format(name=5, x="%4", w="%w", s=2, h=12, ho=6, wo=5)
    + "  return %5 : tensor<1x6x5x8xf32>\n}\n"
)


# A bias for each channel, and a result of which the operation before the last one is made.
_TWO_RESULTS = (
    "func.func @main(%x: tensor<1x12x10x8xf32>, %w: tensor<3x3x8x8xf32>)"
    " -> (tensor<1x12x10x8xf32>, tensor<1x12x10x8xf32>) {\n"
    "  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>\n"
    "  %b = stablehlo.broadcast_in_dim %c, dims = [3] : (tensor<8xf32>) -> tensor<1x12x10x8xf32>\n"
    + _CONVOLUTION.format(name=0, x="%x", w="%w", s=1, h=12, ho=12, wo=10)
    + "  %1 = stablehlo.add %0, %b : tensor<1x12x10x8xf32>\n"
    + "  %2 = stablehlo.negate %1 : tensor<1x12x10x8xf32>\n"
    + "  %3 = stablehlo.abs %2 : tensor<1x12x10x8xf32>\n"
    + _CONVOLUTION.format(name=4, x="%1", w="%w", s=1, h=12, ho=12, wo=10)
    + "  return %3, %4 : tensor<1x12x10x8xf32>, tensor<1x12x10x8xf32>\n}\n"
)


# Two convolutions, between which each pixel becomes four.
_UPSAMPLED = (
    "func.func @main(%x: tensor<1x12x10x8xf32>, %w: tensor<3x3x8x8xf32>) -> tensor<1x24x20x8xf32> {\n"
    "  %u = stablehlo.constant dense<2.0> : tensor<3x3x8x32xf32>\n"
    + _CONVOLUTION.format(name=0, x="%x", w="%u", s=1, h=12, ho=12, wo=10)
    .replace("3x3x8x8x", "3x3x8x32x")
    .replace("x10x8xf32>\n", "x10x32xf32>\n")
    + """
  %b = stablehlo.reshape %0 : (tensor<1x12x10x32xf32>) -> tensor<1x12x10x2x2x8xf32>
  %t = stablehlo.transpose %b, dims = [0, 1, 3, 2, 4, 5]
    : (tensor<1x12x10x2x2x8xf32>) -> tensor<1x12x2x10x2x8xf32>
  %a = stablehlo.reshape %t : (tensor<1x12x2x10x2x8xf32>) -> tensor<1x24x20x8xf32>
"""
    + _CONVOLUTION.format(name=1, x="%a", w="%w", s=1, h=24, ho=24, wo=20).replace("x10x8", "x20x8")
    + "  return %1 : tensor<1x24x20x8xf32>\n}\n"
)


class StripsTest(support.OptimizedTest):
    def setUp(self) -> None:
        super().setUp()
        rng = np.random.default_rng(2)
        self.x = rng.integers(-4, 5, (1, 12, 10, 8)).astype(np.float32)
        self.w = rng.integers(-1, 2, (3, 3, 8, 8)).astype(np.float32)

    def in_strips(self, rows: int, model: str = _MODEL, *, pixels: bool = False) -> str:
        """Cuts the whole model, and keeps the text for run_rewritten."""

        def rewrite(module: Any, _: Context) -> None:
            context = Context(target.find("rv64gcv_zvl256b"), has_budget=True)
            for each in (channels_last, channels_last_between, max_poolings, strips):
                each.apply(module, context)
            (outline,) = (each for each in context.outlines.values() if each.stages)
            if rows:
                first, last = outline.stages[1] + 1, outline.stages[-1]
                if outline.stretch(first, last) is None:
                    first = outline.stages[0] + 1
                (name,) = (name for name, each in context.outlines.items() if each is outline)
                context.cuts = {name: (Cut(first, last, rows, pixels),)}
                strips.apply(module, context)
                strip_kernels.apply(module, context)

        return self.rewritten(model, rewrite)

    def test_strips_of_any_size(self) -> None:
        self.in_strips(0)
        want = self.run_rewritten(self.x, self.w)
        self.assertTrue(want.any())
        for rows in (1, 4, 5):
            with self.subTest(rows):
                text = self.in_strips(rows)
                self.assertIn("bm.strip", text)
                np.testing.assert_array_equal(self.run_rewritten(self.x, self.w), want)

    def test_results_of_a_stretch_and_repeated_numbers(self) -> None:
        self.in_strips(0, _TWO_RESULTS)
        want = self.results_rewritten(self.x, self.w)
        for pixels in (False, True):
            text = self.in_strips(4, _TWO_RESULTS, pixels=pixels)
            self.assertIn("bm.strip", text)
            self.assertEqual("bm.strip = 1" in text, pixels)
            found = self.results_rewritten(self.x, self.w)
            for result, wanted in zip(found, want, strict=True):
                np.testing.assert_array_equal(result, wanted)

    def test_rows_that_become_two(self) -> None:
        self.in_strips(0, _UPSAMPLED)
        want = self.run_rewritten(self.x, self.w)
        self.assertTrue(want.any())
        for rows in (2, 4, 6):
            text = self.in_strips(rows, _UPSAMPLED, pixels=True)
            self.assertIn("bm.strip", text)
            self.assertIsNone(re.search("collapse_shape .* into tensor<24x20x8xf32>", text))
            np.testing.assert_array_equal(self.run_rewritten(self.x, self.w), want)

    def test_no_tensor_between_layers_is_whole(self) -> None:
        whole = re.compile(
            r"linalg\.generic.*-> tensor<12x10x8xf32>|^ *} -> tensor<12x10x8xf32>", re.M
        )
        self.assertRegex(self.in_strips(0), whole)
        text = self.in_strips(4)
        self.assertNotRegex(text, whole)
        self.assertIn("tensor<4x10x8xf32>", text)


if __name__ == "__main__":
    unittest.main()
