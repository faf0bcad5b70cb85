"""Tests that every second element can be read backwards, by what IREE computes."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.rewrites.meaning import reversals

_MODEL = """func.func @main(%x: tensor<5x11xf32>) -> tensor<2x3xf32> {
  %part = stablehlo.slice %x [1:5:3, 1:9:3] : (tensor<5x11xf32>) -> tensor<2x3xf32>
  %y = stablehlo.reverse %part, dims = DIMS : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
"""
_WHOLE = """func.func @main(%x: tensor<5x11xf32>) -> tensor<5x3xf32> {
  %part = stablehlo.slice %x [0:5, 1:9:3] : (tensor<5x11xf32>) -> tensor<5x3xf32>
  %y = stablehlo.reverse %part, dims = [0] : tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}
"""


class ReversalsTest(support.FolderTest):
    def computed(self, dims: str) -> tuple[Array, Array]:
        """Returns an image and the part of it that the model makes."""
        x = np.arange(55, dtype=np.float32).reshape(5, 11)
        (result,) = self.on_host(_MODEL.replace("DIMS", dims), x)
        return x, result

    def test_slices_with_steps(self) -> None:
        for dims, parts in (
            ("[1]", (slice(1, 5, 3), slice(7, 0, -3))),
            ("[0, 1]", (slice(4, 0, -3), slice(7, 0, -3))),
        ):
            x, result = self.computed(dims)
            np.testing.assert_array_equal(result, x[parts])

    def test_iree_cannot_compile_them(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        with mock.patch.object(reversals, "apply"), self.assertRaises(BmcError):
            self.computed("[1]")

    def test_others_stay(self) -> None:
        empty = _WHOLE.replace("1:9:3", "1:1:3").replace("5x3", "5x0").replace("[0] :", "[1] :")
        for text in (_WHOLE, empty):
            self.assertEqual(support.rewritten(text, reversals.apply), support.rewritten(text))


if __name__ == "__main__":
    unittest.main()
