"""Tests that sorts are stable, by what IREE computes."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc.artifacts import Signature, TensorInfo
from bmc.dtype import Array, DType
from bmc.reference import HostModel
from bmc.rewrites import sorts

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
_X = np.array([2, 1, 2, 1, 2, 1, 0, 0], np.int32)


class SortsTest(support.FolderTest):
    def answer(self, text: str) -> tuple[Array, Array]:
        path = self.write("model.mlir", text)
        shape = (3,) if "slice" in text else (8,)
        outputs = tuple(TensorInfo(name, DType.I32, shape) for name in "vi")
        signature = Signature("main", (TensorInfo("x", DType.I32, (8,)),), outputs)
        values, places = HostModel.compile(path, (signature,), self.folder).run((_X,))
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
        with mock.patch.object(sorts, "apply"):
            _, places = self.answer(_SORT)
        self.assertNotEqual(places.tolist(), np.argsort(_X, kind="stable").tolist())

    def test_a_comparison_that_keeps_equal_ones_stays_as_it_is(self) -> None:
        text = _SORT.replace("LT", "LE")
        self.assertEqual(support.rewritten(text, sorts.apply), support.rewritten(text))


if __name__ == "__main__":
    unittest.main()
