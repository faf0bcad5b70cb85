"""Tests permutations of axes: who gets a copy, and who another indexing map."""

from __future__ import annotations

import unittest
from typing import Any

import support
from iree.compiler import ir

from bmc.ir import ir_util, permute

_FUNCTION = """
func.func @main(%x: tensor<2x3x4xf32>, %f: f32) -> tensor<2x3x4xf32> {{
  %empty = tensor.empty() : tensor<2x3x4xf32>
  {body}
  return %0 : tensor<2x3x4xf32>
}}
"""
_FILL = "%0 = linalg.fill ins(%f : f32) outs(%empty : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>"
_PAD = """%small = tensor.extract_slice %x[0, 0, 0] [2, 2, 1] [1, 1, 1]
    : tensor<2x3x4xf32> to tensor<2x2x1xf32>
  %0 = tensor.pad %small low[0, 1, 2] high[0, 0, 1] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %f : f32
  } : tensor<2x2x1xf32> to tensor<2x3x4xf32>"""
_ABS = """%0 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>,
      affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(NAME : tensor<2x3x4xf32>) outs(%empty : tensor<2x3x4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %b = math.absf %a : f32
    linalg.yield %b : f32
  } -> tensor<2x3x4xf32>"""
_AXES = (2, 0, 1)


class TransposedTest(unittest.TestCase):
    def transposed(self, body: str, axes: tuple[int, ...] = _AXES) -> str:
        """Adds the transposition of %0; returns the text of the function without the original."""

        def apply(module: Any, _: Any) -> None:
            (done,) = ir_util.all_of(module, "func.return")
            with ir.InsertionPoint(done):
                value = permute.transposed(done.operands[0], axes)
                ir.Operation.create("util.optimization_barrier", [value.type], [value])

        return support.rewritten(_FUNCTION.format(body=body), apply)

    def test_a_copy_reads_through_the_permutation(self) -> None:
        text = self.transposed(_ABS.replace("NAME", "%x"))
        self.assertEqual(text.count("linalg.generic"), 2)
        # result[i, j, k] = value[j, k, i]
        self.assertIn("affine_map<(d0, d1, d2) -> (d1, d2, d0)>", text)
        self.assertRegex(text, r"util.optimization_barrier %\d+ : tensor<4x2x3xf32>")

    def test_a_fill_is_filled_in_the_new_shape(self) -> None:
        text = self.transposed(_FILL)
        self.assertEqual(text.count("linalg.fill"), 2)
        self.assertIn("-> tensor<4x2x3xf32>", text)
        self.assertNotIn("linalg.generic", text)

    def test_a_broadcast_is_one_of_the_new_shape(self) -> None:
        broadcast = """%row = tensor.empty() : tensor<ROWxf32>
  %0 = linalg.broadcast ins(%row : tensor<ROWxf32>) outs(%empty : tensor<2x3x4xf32>) dimensions = [OTHERS]"""
        text = self.transposed(broadcast.replace("ROW", "3").replace("OTHERS", "0, 2"))
        self.assertIn("outs(%2 : tensor<4x2x3xf32>) dimensions = [0, 1]", text)
        # The axes of the row would change places.
        text = self.transposed(broadcast.replace("ROW", "2x4").replace("OTHERS", "1"))
        self.assertEqual(text.count("linalg.broadcast"), 1)
        self.assertEqual(text.count("linalg.generic"), 1)

    def test_padding_is_permuted_too(self) -> None:
        text = self.transposed(_PAD)
        self.assertIn("low[2, 0, 1] high[1, 0, 0]", text)
        self.assertIn("tensor<1x2x2xf32> to tensor<4x2x3xf32>", text)

    def test_nothing_is_done_for_axes_in_order(self) -> None:
        text = self.transposed(_ABS.replace("NAME", "%x"), axes=(0, 1, 2))
        self.assertEqual(text.count("linalg.generic"), 1)


class ReplaceTest(unittest.TestCase):
    def replaced(self, *readers: str) -> str:
        """Replaces %x with a transposed copy of itself for some readers."""

        def apply(module: Any, _: Any) -> None:
            (op,) = ir_util.all_of(module, "tensor.cast")
            with ir.InsertionPoint(op), op.location:
                value = permute.transposed(op.operands[0], _AXES)
            permute.replace(op, value, _AXES)

        body = "%same = tensor.cast %x : tensor<2x3x4xf32> to tensor<2x3x4xf32>\n  "
        return support.rewritten(_FUNCTION.format(body=body + "\n  ".join(readers)), apply)

    def test_a_generic_reads_through_another_map(self) -> None:
        text = self.replaced(_ABS.replace("NAME", "%same"))
        self.assertNotIn("tensor.cast", text)
        # The copy, and its reader: no second transposition.
        self.assertEqual(text.count("linalg.generic"), 2)
        self.assertIn("affine_map<(d0, d1, d2) -> (d2, d0, d1)>", text)

    def test_others_get_it_back_as_it_was(self) -> None:
        text = self.replaced("%0 = math.absf %same : tensor<2x3x4xf32>")
        self.assertEqual(text.count("linalg.generic"), 2)
        self.assertRegex(text, r"math.absf %\d+ : tensor<2x3x4xf32>")


if __name__ == "__main__":
    unittest.main()
