"""Counts the multiply-accumulates of operations where the number is obvious."""

from __future__ import annotations

import unittest

from iree.compiler import ir

from bmc.facts import macs

_DEPTHWISE = """
#image = affine_map<(d0, d1, d2, d3, d4) -> (d0 * 2 + d3, d1 * 2 + d4, d2)>
#filter = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, d2)>
#result = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
"""


class MacsTest(unittest.TestCase):
    def count(self, body: str, arguments: str, result: str, maps: str = "") -> int:
        """Counts a `main` of `arguments` that returns %out of type `result`."""
        text = (
            f"{maps}\nutil.func public @main({arguments}) -> {result} {{\n"
            f"{body}\nutil.return %out : {result}\n}}\n"
        )
        with ir.Context():
            module = ir.Module.parse(text)
            found = macs.count(module)
        self.assertEqual(list(found), ["main"])
        return found["main"]

    def test_matmul(self) -> None:
        body = (
            "%out = linalg.matmul ins(%a, %b : tensor<3x5xf32>, tensor<5x7xf32>)"
            " outs(%c : tensor<3x7xf32>) -> tensor<3x7xf32>"
        )
        arguments = "%a: tensor<3x5xf32>, %b: tensor<5x7xf32>, %c: tensor<3x7xf32>"
        self.assertEqual(self.count(body, arguments, "tensor<3x7xf32>"), 3 * 5 * 7)

    def test_convolution_of_named_kind(self) -> None:
        # The first layer of ResNet8: 3x3 over 3 channels, for each of 32x32x16 results.
        body = (
            "%out = linalg.conv_2d_nhwc_hwcf"
            " ins(%a, %b : tensor<1x34x34x3xi8>, tensor<3x3x3x16xi8>)"
            " outs(%c : tensor<1x32x32x16xi32>) -> tensor<1x32x32x16xi32>"
        )
        arguments = "%a: tensor<1x34x34x3xi8>, %b: tensor<3x3x3x16xi8>, %c: tensor<1x32x32x16xi32>"
        result = "tensor<1x32x32x16xi32>"
        self.assertEqual(self.count(body, arguments, result), 32 * 32 * 16 * 3 * 3 * 3)

    def test_zero_points_that_are_numbers(self) -> None:
        body = (
            "%out = linalg.conv_2d_nhwc_hwcf_q"
            " ins(%a, %b, %x, %y : tensor<1x5x5x3xi8>, tensor<3x3x3x4xi8>, i32, i32)"
            " outs(%c : tensor<1x3x3x4xi32>) -> tensor<1x3x3x4xi32>"
        )
        arguments = (
            "%a: tensor<1x5x5x3xi8>, %b: tensor<3x3x3x4xi8>, %x: i32, %y: i32,"
            " %c: tensor<1x3x3x4xi32>"
        )
        self.assertEqual(self.count(body, arguments, "tensor<1x3x3x4xi32>"), 3 * 3 * 4 * 3 * 3 * 3)

    def test_depthwise_convolution_as_loops(self) -> None:
        body = (
            "%out = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types ="
            ' ["parallel", "parallel", "parallel", "reduction", "reduction"]}'
            " ins(%a, %b : tensor<9x9x8xf32>, tensor<3x3x8xf32>) outs(%c : tensor<4x4x8xf32>) {\n"
            "^bb0(%x: f32, %w: f32, %sum: f32):\n"
            "%0 = arith.mulf %x, %w : f32\n%1 = arith.addf %sum, %0 : f32\nlinalg.yield %1 : f32\n"
            "} -> tensor<4x4x8xf32>"
        )
        arguments = "%a: tensor<9x9x8xf32>, %b: tensor<3x3x8xf32>, %c: tensor<4x4x8xf32>"
        count = self.count(body, arguments, "tensor<4x4x8xf32>", _DEPTHWISE)
        self.assertEqual(count, 4 * 4 * 8 * 3 * 3)

    def test_pooling_and_elementwise_products_are_no_macs(self) -> None:
        body = (
            "%w = tensor.empty() : tensor<2x2xf32>\n"
            "%0 = linalg.pooling_nhwc_sum {strides = dense<2> : vector<2xi64>}"
            " ins(%a, %w : tensor<1x4x4x8xf32>, tensor<2x2xf32>)"
            " outs(%c : tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32>\n"
            "%out = linalg.elementwise <mul>"
            " ins(%0, %c : tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>)"
            " outs(%c : tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32>"
        )
        arguments = "%a: tensor<1x4x4x8xf32>, %c: tensor<1x2x2x8xf32>"
        self.assertEqual(self.count(body, arguments, "tensor<1x2x2x8xf32>"), 0)


if __name__ == "__main__":
    unittest.main()
