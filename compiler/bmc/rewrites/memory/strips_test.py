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
    + "  %1 = stablehlo.tanh %0 : tensor<1x12x10x8xf32>\n"
    + "  %2 = stablehlo.round_nearest_even %0 : tensor<1x12x10x8xf32>\n"
    + _CONVOLUTION.format(name=3, x="%2", w="%w", s=1, h=12, ho=12, wo=10)
    + "  %4 = stablehlo.add %2, %3 : tensor<1x12x10x8xf32>\n"
    + _CONVOLUTION.format(name=5, x="%4", w="%w", s=2, h=12, ho=6, wo=5)
    + "  return %5 : tensor<1x6x5x8xf32>\n}\n"
)


class StripsTest(support.OptimizedTest):
    def setUp(self) -> None:
        super().setUp()
        rng = np.random.default_rng(2)
        self.x = rng.integers(-4, 5, (1, 12, 10, 8)).astype(np.float32)
        self.w = rng.integers(-1, 2, (3, 3, 8, 8)).astype(np.float32)

    def in_strips(self, rows: int) -> str:
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
                context.cuts = {name: (Cut(first, last, rows),)}
                strips.apply(module, context)
                strip_kernels.apply(module, context)

        return self.rewritten(_MODEL, rewrite)

    def test_strips_of_any_size(self) -> None:
        self.in_strips(0)
        want = self.run_rewritten(self.x, self.w)
        self.assertTrue(want.any())
        for rows in (1, 4, 5):
            with self.subTest(rows):
                text = self.in_strips(rows)
                self.assertIn("bm.strip", text)
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
