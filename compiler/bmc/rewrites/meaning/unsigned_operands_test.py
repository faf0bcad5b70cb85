"""Tests that products take bytes for what they are, by what IREE computes. NumPy's do."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.meaning import unsigned_operands

_DOT = """func.func @main(%x: tensor<2x3xui8>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %f = stablehlo.convert %x : (tensor<2x3xui8>) -> tensor<2x3xf32>
  %r = stablehlo.dot_general %f, %y, contracting_dims = [1] x [0]
      : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
"""
_BATCH = """func.func @main(%x: tensor<2x3xui8>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %f = stablehlo.convert %x : (tensor<2x3xui8>) -> tensor<2x3xf32>
  %a = stablehlo.reshape %f : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  %b = stablehlo.reshape %y : (tensor<3x4xf32>) -> tensor<1x3x4xf32>
  %p = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
      : (tensor<1x2x3xf32>, tensor<1x3x4xf32>) -> tensor<1x2x4xf32>
  %r = stablehlo.reshape %p : (tensor<1x2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
"""
_INTEGERS = """func.func @main(%x: tensor<2x3xui8>, %y: tensor<3x4xui8>) -> tensor<2x4xi32> {
  %a = stablehlo.convert %x : (tensor<2x3xui8>) -> tensor<2x3xi32>
  %b = stablehlo.convert %y : (tensor<3x4xui8>) -> tensor<3x4xi32>
  %r = stablehlo.dot %a, %b : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
  return %r : tensor<2x4xi32>
}
"""
_DIRECT = """func.func @main(%x: tensor<2x3xui8>, %y: tensor<3x4xui8>) -> tensor<2x4xi32> {
  %p = stablehlo.dot %x, %y : (tensor<2x3xui8>, tensor<3x4xui8>) -> tensor<2x4xui32>
  %r = stablehlo.convert %p : (tensor<2x4xui32>) -> tensor<2x4xi32>
  return %r : tensor<2x4xi32>
}
"""
_TRUTHS = """func.func @main(%x: tensor<2x600xi1>, %y: tensor<600x4xi1>) -> tensor<2x4xi1> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
      : (tensor<2x600xi1>, tensor<600x4xi1>) -> tensor<2x4xi1>
  return %r : tensor<2x4xi1>
}
"""
_MODELS = (_DOT, _BATCH, _INTEGERS, _DIRECT)
_X = np.array([[0, 127, 128], [200, 255, 1]], np.uint8)
_Y = np.arange(250, 238, -1).reshape(3, 4)


class WideningsTest(support.FolderTest):
    def computed(self, text: str) -> tuple[Array, Array]:
        """Returns what IREE computes, and what it must be."""
        y = _Y.astype(np.uint8 if text in (_INTEGERS, _DIRECT) else np.float32)
        (got,) = self.on_host(text, _X, y)
        return got, _X.astype(np.int32) @ _Y

    def test_bytes_above_127(self) -> None:
        for text in _MODELS:
            np.testing.assert_array_equal(*self.computed(text))

    def test_without_it_they_are_wrong(self) -> None:
        # If one of these is right, IREE has mended what it needs.
        with mock.patch.object(unsigned_operands, "apply"):
            for text in _MODELS:
                got, wanted = self.computed(text)
                self.assertFalse(np.array_equal(got, wanted))

    def test_products_of_truth_values(self) -> None:
        # The byte of a count ends at 256.
        x = np.arange(600) < np.array([[256], [512]])
        y = np.arange(4) < np.array([[3]] * 600)
        (got,) = self.on_host(_TRUTHS, x, y)
        np.testing.assert_array_equal(got, x @ y)
        with mock.patch.object(unsigned_operands, "apply"):
            (got,) = self.on_host(_TRUTHS, x, y)
            self.assertFalse(np.array_equal(got, x @ y))

    def test_each_value_is_looked_at_once(self) -> None:
        # There are 2 ** 40 ways from the product to the input.
        lines = []
        for number in range(40):
            lines += [
                f"%c{number} = stablehlo.concatenate %f{number}, %f{number}, dim = 0"
                " : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>",
                f"%f{number + 1} = stablehlo.slice %c{number} [1:3, 0:3]"
                " : (tensor<4x3xf32>) -> tensor<2x3xf32>",
            ]
        text = _DOT.replace("%f =", "%f0 =").replace("%f, %y", "%f40, %y")
        text = text.replace("  %r =", "\n".join(lines) + "\n  %r =")
        self.assertEqual(support.rewritten(text, unsigned_operands.apply).count("stablehlo.and"), 1)

    def test_signed_bytes_stay(self) -> None:
        text = _DOT.replace("ui8", "i8")
        self.assertNotIn("stablehlo.and", support.rewritten(text, unsigned_operands.apply))


if __name__ == "__main__":
    unittest.main()
