"""Tests the element types, shapes and permutations of stored weights."""

from __future__ import annotations

import unittest

import support
from iree.compiler import ir

from bmc import target
from bmc.facts import stored_weights
from bmc.facts.stored_weights import WeightType
from bmc.rewrites.context import Context
from bmc.rewrites.layout import channels_last, matmul_layout


class StoredWeightsTest(support.FolderTest):
    def test_weight_that_is_read_without_its_unit_dimensions_loses_them(self) -> None:
        maps = ", ".join(
            f"affine_map<(y, x, n, k) -> ({loops})>" for loops in ("y, x, k", "n, k", "y, x, n")
        )
        context = Context(target.find(support.ISA))
        text = support.rewritten(
            f"""util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<64x32x1x1xf32>
util.func @f(%x: tensor<4x5x32xf32>, %init: tensor<4x5x64xf32>) -> tensor<4x5x64xf32> {{
  %weight = util.global.load immutable @w : tensor<64x32x1x1xf32>
  %w = tensor.collapse_shape %weight [[0], [1, 2, 3]]
    : tensor<64x32x1x1xf32> into tensor<64x32xf32>
  %0 = linalg.generic {{indexing_maps = [{maps}],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
    ins(%x, %w : tensor<4x5x32xf32>, tensor<64x32xf32>) outs(%init : tensor<4x5x64xf32>) {{
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }} -> tensor<4x5x64xf32>
  util.return %0 : tensor<4x5x64xf32>
}}
""",
            channels_last.apply,
            matmul_layout.apply,
            context=context,
        )
        with ir.Context():
            module = ir.Module.parse(text)
            types = stored_weights.read(module, context.permutations)
        self.assertEqual(types["w"], WeightType("f32", (64, 32), (1, 0), "-:8"))

    def test_shape_in_the_archive_is_that_before_the_permutation(self) -> None:
        with ir.Context():
            module = ir.Module.parse("util.global private @w : tensor<3x2x8x16xf32>")
            types = stored_weights.read(module, {"w": (2, 3, 1, 0)})
        self.assertEqual(types["w"], WeightType("f32", (16, 8, 3, 2), (2, 3, 1, 0)))


if __name__ == "__main__":
    unittest.main()
