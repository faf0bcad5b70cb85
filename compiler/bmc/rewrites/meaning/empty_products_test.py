"""Tests that sums over no elements are what they start from, by what IREE computes."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.rewrites.meaning import empty_products

_MODEL = """func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %none = stablehlo.slice %x [0:2, 0:0] : (tensor<2x3xf32>) -> tensor<2x0xf32>
  %more = stablehlo.slice %x [0:0, 0:3] : (tensor<2x3xf32>) -> tensor<0x3xf32>
  %two = arith.constant dense<2.0> : tensor<2x3xf32>
PRODUCT
  %r = stablehlo.add %x, %y : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
"""
_DOT = """  %y = stablehlo.dot_general %none, %more, contracting_dims = [1] x [0]
    : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>"""
_MATMUL = """  %y = linalg.matmul ins(%none, %more : tensor<2x0xf32>, tensor<0x3xf32>)
    outs(%two : tensor<2x3xf32>) -> tensor<2x3xf32>"""
_CONVOLUTION = """  %image = stablehlo.reshape %none : (tensor<2x0xf32>) -> tensor<2x0x1x1xf32>
  %filter = stablehlo.reshape %more : (tensor<0x3xf32>) -> tensor<3x0x1x1xf32>
  %z = stablehlo.convolution(%image, %filter) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x0x1x1xf32>, tensor<3x0x1x1xf32>) -> tensor<2x3x1x1xf32>
  %y = stablehlo.reshape %z : (tensor<2x3x1x1xf32>) -> tensor<2x3xf32>"""
_FULL = """  %w = arith.constant dense<1.0> : tensor<2x2xf32>
  %y = linalg.matmul ins(%w, %two : tensor<2x2xf32>, tensor<2x3xf32>)
    outs(%two : tensor<2x3xf32>) -> tensor<2x3xf32>"""


class EmptiesTest(support.FolderTest):
    def computed(self, product: str, x: Array) -> Array:
        (result,) = self.on_host(_MODEL.replace("PRODUCT", product), x)
        return result

    def test_products_over_no_elements(self) -> None:
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        for product, start in ((_DOT, 0), (_MATMUL, 2), (_CONVOLUTION, 0)):
            np.testing.assert_array_equal(self.computed(product, x), x + x[:, :0] @ x[:0] + start)

    def test_iree_crashes_on_them(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        with mock.patch.object(empty_products, "apply"), self.assertRaises(BmcError):
            self.computed(_MATMUL, np.zeros((2, 3), np.float32))

    def test_others_stay(self) -> None:
        text = _MODEL.replace("PRODUCT", _FULL)
        self.assertEqual(support.rewritten(text, empty_products.apply), support.rewritten(text))


if __name__ == "__main__":
    unittest.main()
