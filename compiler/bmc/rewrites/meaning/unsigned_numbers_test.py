"""Tests that unsigned integers are indices, elements of scatters and windows, and can be reversed."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np
import support
from numpy.typing import NDArray

from bmc.errors import BmcError
from bmc.rewrites.meaning import unsigned_numbers

_GATHER = """func.func @main(%x: tensor<256xui8>, %i: tensor<6x1xui8>) -> tensor<6xui8> {
  %y = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false,
      slice_sizes = array<i64: 1>}> : (tensor<256xui8>, tensor<6x1xui8>) -> tensor<6xui8>
  return %y : tensor<6xui8>
}
"""
_SCATTER = """func.func @main(%x: tensor<256xui8>, %i: tensor<6x1xui8>) -> tensor<256xui8> {
  %200 = stablehlo.constant dense<200> : tensor<ui8>
  %u = stablehlo.broadcast_in_dim %200, dims = [] : (tensor<ui8>) -> tensor<6xui8>
  %y = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, unique_indices = false,
      scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
    %c = stablehlo.STEP %a, %b : tensor<ui8>
    stablehlo.return %c : tensor<ui8>
  }) : (tensor<256xui8>, tensor<6x1xui8>, tensor<6xui8>) -> tensor<256xui8>
  return %y : tensor<256xui8>
}
"""
_WINDOW = """func.func @main(%x: tensor<256xui8>, %i: tensor<6x1xui8>) -> tensor<256xui8> {
  %none = stablehlo.constant dense<0> : tensor<ui8>
  %0 = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<ui8>) -> tensor<ui8>
  %y = "stablehlo.reduce_window"(%x, %0) <{padding = dense<[[2, 0]]> : tensor<1x2xi64>,
      window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
    %c = stablehlo.maximum %a, %b : tensor<ui8>
    stablehlo.return %c : tensor<ui8>
  }) : (tensor<256xui8>, tensor<ui8>) -> tensor<256xui8>
  return %y : tensor<256xui8>
}
"""
_REVERSE = """func.func @main(%x: tensor<256xui8>, %i: tensor<6x1xui8>) -> tensor<256xui8> {
  %y = stablehlo.reverse %x, dims = [0] : tensor<256xui8>
  return %y : tensor<256xui8>
}
"""
_X = np.random.default_rng(0).permutation(256).astype(np.uint8)
_I = np.array([0, 127, 128, 200, 254, 255], np.uint8)


def _scattered(step: Any) -> NDArray[np.uint8]:
    wanted = _X.copy()
    wanted[_I] = step(wanted[_I], np.uint8(200))
    return wanted


class UnsignedNumbersTest(support.FolderTest):
    def answer(self, text: str) -> NDArray[Any]:
        (result,) = self.on_host(text, _X, _I[:, None])
        return result

    def test_indices(self) -> None:
        np.testing.assert_array_equal(self.answer(_GATHER), _X[_I])
        with mock.patch.object(unsigned_numbers, "apply"):
            self.assertFalse(np.array_equal(self.answer(_GATHER), _X[_I]))

    def test_steps(self) -> None:
        largest = np.maximum(np.maximum(_X, np.r_[0, _X[:-1]]), np.r_[0, 0, _X[:-2]])
        for text, wanted in (
            (_SCATTER.replace("STEP", "add"), _scattered(np.add)),
            (_SCATTER.replace("STEP", "minimum"), _scattered(np.minimum)),
            (_WINDOW, largest),
        ):
            np.testing.assert_array_equal(self.answer(text), wanted)

    def test_several_steps(self) -> None:
        # The larger one of sums is another if the sums are not cut off.
        text = _SCATTER.replace("STEP", "add").replace(
            "    stablehlo.return %c :",
            "    %d = stablehlo.maximum %c, %a : tensor<ui8>\n    stablehlo.return %d :",
        )
        once = _scattered(lambda old, new: np.maximum(old + new, old))
        np.testing.assert_array_equal(self.answer(text), once)

    def test_reversals(self) -> None:
        np.testing.assert_array_equal(self.answer(_REVERSE), _X[::-1])
        # If this fails, IREE does it itself, and the rewrite can do less.
        with mock.patch.object(unsigned_numbers, "apply"), self.assertRaises(BmcError):
            self.answer(_REVERSE)

    def test_others_stay(self) -> None:
        for text in (_REVERSE, _WINDOW, _SCATTER.replace("STEP", "add")):
            signed = text.replace("ui8", "i8")
            self.assertEqual(
                support.rewritten(signed, unsigned_numbers.apply), support.rewritten(signed)
            )


if __name__ == "__main__":
    unittest.main()
