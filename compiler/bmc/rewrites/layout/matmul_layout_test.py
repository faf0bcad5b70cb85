"""Tests which operands of matrix products are transposed, and when."""

from __future__ import annotations

import unittest

import support

from bmc import target
from bmc.rewrites.context import Context
from bmc.rewrites.layout import matmul_layout

_PRODUCT = """linalg.matmul
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                     affine_map<(m, n, k) -> (m, n)>]
    ins({a}, {b} : tensor<{m}x8xf32>, tensor<16x8xf32>) outs(%init : tensor<{m}x16xf32>)
    -> tensor<{m}x16xf32>"""
_MODEL = """
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<16x8xf32>
util.func @main(%x: tensor<{m}x8xf32>, %y: tensor<16x8xf32>, %init: tensor<{m}x16xf32>, %i: index)
    -> tensor<{m}x16xf32> {{
  %w = util.global.load immutable @w : tensor<16x8xf32>
  {other}
  %0 = {product}
  util.return %0 : tensor<{m}x16xf32>
}}
"""


_ROW = """
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<{n}x8xf32>
util.func @main(%x: tensor<8xf32>, %init: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %w = util.global.load immutable @w : tensor<{n}x8xf32>
  %0 = linalg.generic {{
      indexing_maps = [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (n, k)>, affine_map<(n, k) -> (n)>],
      iterator_types = ["parallel", "reduction"]}}
      ins(%x, %w : tensor<8xf32>, tensor<{n}x8xf32>) outs(%init : tensor<{n}xf32>) {{
  ^bb0(%a: f32, %b: f32, %old: f32):
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %old, %product : f32
    linalg.yield %sum : f32
  }} -> tensor<{n}xf32>
  util.return %0 : tensor<{n}xf32>
}}
"""

_GROUPS = """
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<3x{n}x4xf32>
util.func @main(%x: tensor<9x3x4xf32>, %init: tensor<3x{n}x9xf32>) -> tensor<3x{n}x9xf32> {{
  %w = util.global.load immutable @w : tensor<3x{n}x4xf32>
  %0 = linalg.generic {{
      indexing_maps = [affine_map<(g, n, p, k) -> (p, g, k)>, affine_map<(g, n, p, k) -> (g, {weight})>,
                       affine_map<(g, n, p, k) -> (g, n, p)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%x, %w : tensor<9x3x4xf32>, tensor<3x{n}x4xf32>) outs(%init : tensor<3x{n}x9xf32>) {{
  ^bb0(%a: f32, %b: f32, %old: f32):
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %old, %product : f32
    linalg.yield %sum : f32
  }} -> tensor<3x{n}x9xf32>
  util.return %0 : tensor<3x{n}x9xf32>
}}
"""


_VECMAT = """
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<{k}x{n}xf32>
util.func @main(%x: tensor<{k}xf32>, %init: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %w = util.global.load immutable @w : tensor<{k}x{n}xf32>
  {other}
  %0 = linalg.vecmat ins(%x, %w : tensor<{k}xf32>, tensor<{k}x{n}xf32>) outs(%init : tensor<{n}xf32>)
    -> tensor<{n}xf32>
  util.return %0 : tensor<{n}xf32>
}}
"""


class MatmulLayoutTest(unittest.TestCase):
    def setUp(self) -> None:
        self.context = Context(target.find(support.ISA))

    def rewritten(self, b: str, m: int = 4, other: str = "") -> str:
        product = _PRODUCT.format(a="%x", b=b, m=m)
        text = _MODEL.format(m=m, product=product, other=other)
        return support.rewritten(text, matmul_layout.apply, context=self.context)

    def test_a_weight_is_transposed_at_build_time(self) -> None:
        text = self.rewritten("%w")
        self.assertEqual(self.context.permutations, {"w": (1, 0)})
        self.assertIn('#flow.parameter.named<"model"::"w"> : tensor<8x16xf32>', text)
        self.assertIn("tensor<4x8xf32>, tensor<8x16xf32>)", text)
        self.assertNotIn("linalg.transpose", text)

    def test_a_gather_from_the_same_table_changes_with_it(self) -> None:
        gather = "%row = arith.constant 3 : index\n  %e = tensor.extract %w[%i, %row]"
        text = self.rewritten("%w", other=f"{gather} : tensor<16x8xf32>")
        self.assertEqual(self.context.permutations, {"w": (1, 0)})
        self.assertRegex(text, r"tensor.extract %\S+\[%c3, %arg3\] : tensor<8x16xf32>")

    def test_a_row_has_as_many_lanes_as_columns(self) -> None:
        for isa, columns, is_transposed in (
            (support.ISA, 8, True),
            (support.ISA, 7, False),
            ("rv64gc", 63, False),
            ("rv64gc", 64, True),
        ):
            context = Context(target.find(isa))
            support.rewritten(_ROW.format(n=columns), matmul_layout.apply, context=context)
            self.assertEqual(bool(context.permutations), is_transposed, (isa, columns))

    def test_few_columns_of_many_rows_are_lines(self) -> None:
        """A weight [k, n] becomes [n, k], and one that is [n, k] stays."""
        for n, k, few in ((8, 128, True), (8, 16, False), (64, 128, False)):
            with self.subTest(n=n, k=k):
                context = Context(target.find(support.ISA))
                text = _VECMAT.format(n=n, k=k, other="")
                text = support.rewritten(text, matmul_layout.apply, context=context)
                self.assertEqual(context.permutations, {"w": (1, 0)} if few else {})
                self.assertEqual("linalg.matvec" in text, few)
                self.assertEqual(f"ins(%w, %arg0 : tensor<{n}x{k}xf32>" in text, few)
                context = Context(target.find(support.ISA))
                row = _ROW.replace("<8xf32>", f"<{k}xf32>").replace("x8xf32", f"x{k}xf32")
                support.rewritten(row.format(n=n), matmul_layout.apply, context=context)
                self.assertEqual(context.permutations, {} if few else {"w": (1, 0)})
        other = "%1 = math.absf %w : tensor<128x8xf32>"
        context = Context(target.find(support.ISA))
        text = _VECMAT.format(n=8, k=128, other=other)
        support.rewritten(text, matmul_layout.apply, context=context)
        self.assertEqual(context.permutations, {})
        scalar = Context(target.find("rv64gc"))
        text = _VECMAT.format(n=8, k=128, other="")
        support.rewritten(text, matmul_layout.apply, context=scalar)
        self.assertEqual(scalar.permutations, {})

    def test_a_convolution_in_groups_has_its_channels_last(self) -> None:
        """Whatever the order of its results."""
        for columns, expected in ((8, {"w": (0, 2, 1)}), (7, {})):
            self.context.permutations.clear()
            text = support.rewritten(
                _GROUPS.format(n=columns, weight="n, k"), matmul_layout.apply, context=self.context
            )
            self.assertEqual(self.context.permutations, expected)
            self.assertEqual("tensor<9x3x4xf32>, tensor<3x4x8xf32>" in text, columns == 8)
        # Their last axis is the channels' already.
        text = _GROUPS.format(n=4, weight="k, n")
        support.rewritten(text, matmul_layout.apply, context=self.context)
        self.assertEqual(self.context.permutations, {})

    def test_a_weight_that_others_read_is_left_alone(self) -> None:
        text = self.rewritten("%w", other="%2 = math.absf %w : tensor<16x8xf32>")
        self.assertEqual(self.context.permutations, {})
        # Its product reads a transposed copy, as of anything computed.
        self.assertEqual(text.count("linalg.transpose"), 1)

    def test_what_is_computed_is_transposed_at_run_time(self) -> None:
        text = self.rewritten("%y")
        self.assertEqual(self.context.permutations, {})
        self.assertIn("permutation = [1, 0]", text)
        # A single row gains nothing by that.
        self.assertNotIn("linalg.transpose", self.rewritten("%y", m=1))


if __name__ == "__main__":
    unittest.main()
