"""Tests how padded operands are read."""

from __future__ import annotations

import unittest

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.problem.product import Edge, Padding, Product
from bmc.kernels.read.product import read
from bmc.kernels.unsupported import Unsupported

_TEXT = """
func.func @f(%to_image: memref<7x9x3xi8>, %to_taps: memref<3x3x3x16xi8>, %to_result: memref<1x4x5x16xi32>) {
  %c0 = arith.constant 0 : i32
  %c5 = arith.constant -5 : i8
  %image = iree_codegen.load_from_buffer %to_image : memref<7x9x3xi8> -> tensor<7x9x3xi8>
  %taps = iree_codegen.load_from_buffer %to_taps : memref<3x3x3x16xi8> -> tensor<3x3x3x16xi8>
  %padded = tensor.pad %image low[1, 0, 0] high[1, 2, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    VALUE
    tensor.yield %p : i8
  } : tensor<7x9x3xi8> to tensor<9x11x3xi8>
  %wide = tensor.expand_shape %padded [[0, 1], [2], [3]] output_shape [1, 9, 11, 3]
    : tensor<9x11x3xi8> into tensor<1x9x11x3xi8>
  %empty = tensor.empty() : tensor<1x4x5x16xi32>
  %zero = linalg.fill ins(%c0 : i32) outs(%empty : tensor<1x4x5x16xi32>) -> tensor<1x4x5x16xi32>
  %sums = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
    ins(%wide, %taps : tensor<1x9x11x3xi8>, tensor<3x3x3x16xi8>)
    outs(%zero : tensor<1x4x5x16xi32>) -> tensor<1x4x5x16xi32>
  iree_codegen.store_to_buffer %sums, %to_result : tensor<1x4x5x16xi32> into memref<1x4x5x16xi32>
  return
}
"""
_CONSTANT = "%p = arith.constant -5 : i8"


def _read(text: str) -> Product:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (function,) = ir_util.all_of(module, "func.func")
        return read(function).product


class PaddingTest(unittest.TestCase):
    def test_a_convolution_reads_through_its_padding(self) -> None:
        product = _read(_TEXT.replace("VALUE", _CONSTANT))
        # Lines have 9 pixels of 3 channels, and one is missing before them.
        self.assertEqual(product.padding, Padding(0, -5, (Edge(1, 7), Edge(0, 9)), -27))
        self.assertEqual([loop.steps for loop in product.rows], [(2, 0), (0, 2)])
        self.assertEqual([loop.strides[0] for loop in product.rows], [54, 6])
        self.assertEqual([loop.steps for loop in product.summed], [(1, 0), (0, 1), (0, 0)])

    def test_padding_by_nothing(self) -> None:
        none = _TEXT.replace("low[1, 0, 0] high[1, 2, 0]", "low[0, 0, 0] high[0, 0, 0]")
        for wide, narrow in (("9x11", "7x9"), ("9, 11", "7, 9"), ("4x5", "3x4")):
            none = none.replace(wide, narrow)
        self.assertIsNone(_read(none.replace("VALUE", _CONSTANT)).padding)

    def test_what_is_not_read(self) -> None:
        computed = "%p = arith.addi %c5, %c5 : i8"
        with self.assertRaisesRegex(Unsupported, "a computed pad value"):
            _read(_TEXT.replace("VALUE", computed))


if __name__ == "__main__":
    unittest.main()
