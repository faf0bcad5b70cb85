"""Tests that sorts are stable, by what IREE computes."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.meaning import stable_sorts

_SORT = """func.func @main(%x: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>) {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %y:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %t = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }) : (tensor<8xi32>, tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>)
  return %y#0, %y#1 : tensor<8xi32>, tensor<8xi32>
}
"""
_SLICED = (
    _SORT.replace("LT", "GT")
    .replace("-> (tensor<8xi32>, tensor<8xi32>) {", "-> (tensor<3xi32>, tensor<3xi32>) {")
    .replace(
        "  return %y#0, %y#1 : tensor<8xi32>, tensor<8xi32>",
        "  %v = stablehlo.slice %y#0 [0:3] : (tensor<8xi32>) -> tensor<3xi32>\n"
        "  %w = stablehlo.slice %y#1 [0:3] : (tensor<8xi32>) -> tensor<3xi32>\n"
        "  return %v, %w : tensor<3xi32>, tensor<3xi32>",
    )
)
# What is sorted goes around a loop too.
_CALLED = """func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %two = stablehlo.add %x, %x : tensor<4xf32>
  %limit = stablehlo.constant dense<-1.0> : tensor<f32>
  %kept = stablehlo.while(%v = %two) : tensor<4xf32>
  cond {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%v init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %go = stablehlo.compare LT, %sum, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %more = stablehlo.add %v, %v : tensor<4xf32>
    stablehlo.return %more : tensor<4xf32>
  }
  %sorted = func.call @sorted(%two) : (tensor<4xf32>) -> tensor<4xf32>
  return %kept, %sorted : tensor<4xf32>, tensor<4xf32>
}
func.func private @sorted(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %t = stablehlo.compare LE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
_X = np.array([2, 1, 2, 1, 2, 1, 0, 0], np.int32)


class SortsTest(support.FolderTest):
    def answer(self, text: str) -> tuple[Array, Array]:
        values, places = self.on_host(text, _X)
        return values, places

    def test_equal_elements_stay_in_order(self) -> None:
        values, places = self.answer(_SORT)
        order = np.argsort(_X, kind="stable")
        np.testing.assert_array_equal(values, _X[order])
        np.testing.assert_array_equal(places, order)

    def test_the_largest_ones_too(self) -> None:
        values, places = self.answer(_SLICED)
        np.testing.assert_array_equal(values, [2, 2, 2])
        np.testing.assert_array_equal(places, [0, 2, 4])

    def test_without_it_they_change_places(self) -> None:
        # If this fails, IREE sorts stably, and the rewrite can go.
        with mock.patch.object(stable_sorts, "apply"):
            _, places = self.answer(_SORT)
        self.assertNotEqual(places.tolist(), np.argsort(_X, kind="stable").tolist())

    def test_a_comparison_that_keeps_equal_ones_stays_as_it_is(self) -> None:
        self.assertIn("stablehlo.not", support.rewritten(_SORT, stable_sorts.apply))
        text = _SORT.replace("LT", "LE")
        self.assertNotIn("stablehlo.not", support.rewritten(text, stable_sorts.apply))

    def test_a_copy_for_each_operand(self) -> None:
        for operands in ("(%x, %i)", "(%x, %x)"):
            text = support.rewritten(_SORT.replace("(%x, %i)", operands), stable_sorts.apply)
            held = [line for line in text.splitlines() if "stablehlo.optimization_barrier" in line]
            constants = {line.rpartition("optimization_barrier ")[2] for line in held}
            self.assertEqual(len(constants), 2, text)

    def test_what_something_else_reads_is_not_sorted(self) -> None:
        x = np.array([3, 1, 2, 0], np.float32)
        kept, ordered = self.on_host(_CALLED, x)
        np.testing.assert_array_equal(kept, 2 * x)
        np.testing.assert_array_equal(ordered, np.sort(2 * x))


if __name__ == "__main__":
    unittest.main()
