"""Tests which comparisons of floats take NaN for a number, and that others stay as they are."""

from __future__ import annotations

import unittest

import numpy as np
import support

from bmc.rewrites.meaning import nan_order

_SORT = """func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = iree_linalg_ext.sort dimension(0) outs(%x : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.cmpf oge, %a, %b : f32
    iree_linalg_ext.yield %t : i1
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}
"""
_STABLEHLO = """func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %t = stablehlo.compare KIND, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
"""
_REDUCE = """func.func @main(%x: tensor<8xf32>, %i: tensor<8xi32>) -> tensor<i32> {
  %v = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %y:2 = stablehlo.reduce(%x init: %v), (%i init: %z) across dimensions = [0]
      : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %t = stablehlo.compare KIND, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %p = stablehlo.select %t, %a, %b : tensor<i1>, tensor<f32>
    %q = stablehlo.select %t, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %p, %q : tensor<f32>, tensor<i32>
  }
  return %y#1 : tensor<i32>
}
"""


class NansTest(support.FolderTest):
    def test_a_sort_puts_it_at_one_end(self) -> None:
        text = support.rewritten(_SORT, nan_order.apply)
        self.assertIn("arith.cmpf uno, %arg1, %arg1", text)
        text = support.rewritten(_SORT.replace("oge", "ole"), nan_order.apply)
        self.assertIn("arith.cmpf uno, %arg2, %arg2", text)

    def test_a_sort_of_stablehlo_too(self) -> None:
        nan = np.float32("nan")
        x = np.array([1, nan, -np.inf, 3, nan, 2, np.inf, 0], np.float32)
        for kind, expected in (("GT", -np.sort(-x)), ("LT", np.sort(x))):
            (got,) = self.on_host(_STABLEHLO.replace("KIND", kind), x)
            expected = np.roll(expected, 2) if kind == "GT" else expected
            np.testing.assert_array_equal(got, expected)

    def test_it_is_the_largest_of_all(self) -> None:
        self.assertIn(
            "compare NE", support.rewritten(_REDUCE.replace("KIND", "GE"), nan_order.apply)
        )

    def test_who_looks_for_it_is_left_alone(self) -> None:
        for old, kind in ((_REDUCE, "NE"), (_REDUCE, "GT"), (_SORT, "")):
            text = old.replace("KIND", kind).replace("oge", "uge")
            self.assertEqual(support.rewritten(text, nan_order.apply), support.rewritten(text))


if __name__ == "__main__":
    unittest.main()
