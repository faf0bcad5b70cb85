"""Tests what counts as a sum of products of two inputs."""

from __future__ import annotations

import unittest

from iree.compiler import ir

from bmc.facts import products


def _generic(
    inputs: str, maps: str, body: str, result: str = "f32", loops: str = '"reduction"'
) -> str:
    """A linalg.generic over 4 rows that are summed; every operand has 8 columns if its map has d1."""
    names = [f"%a{i}" for i in range(len(inputs.split()))]
    types = inputs.split()
    return f"""
#k = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>
func.func @f({", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))},
             %out: tensor<4x{result}>) -> tensor<4x{result}> {{
  %0 = linalg.generic {{indexing_maps = [{maps}, #r], iterator_types = ["parallel", {loops}]}}
      ins({", ".join(names)} : {", ".join(types)}) outs(%out : tensor<4x{result}>) {{
    {body}
  }} -> tensor<4x{result}>
  return %0 : tensor<4x{result}>
}}
"""


class ProductsTest(unittest.TestCase):
    def accumulators(self, text: str) -> list[str]:
        with ir.Context():
            module = ir.Module.parse(text)
            return [product.accumulator for product in products.read(module)]

    def test_sums_of_products_of_two_inputs(self) -> None:
        product = """^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32"""
        text = _generic("tensor<4x8xf32> tensor<8xf32>", "#k, #c", product)
        self.assertEqual(self.accumulators(text), ["f32"])
        integers = """^bb0(%a: i8, %b: i8, %o: i32):
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %2, %o : i32
    linalg.yield %3 : i32"""
        text = _generic("tensor<4x8xi8> tensor<8xi8>", "#k, #c", integers, "i32")
        self.assertEqual(self.accumulators(text), ["i32"])

    def test_dequantized_where_it_is_multiplied(self) -> None:
        text = _generic(
            "tensor<4x8xi8> tensor<8xi8> tensor<4xf32>",
            "#k, #c, #r",
            """^bb0(%a: i8, %b: i8, %s: f32, %o: f32):
    %0 = arith.sitofp %a : i8 to f32
    %1 = arith.sitofp %b : i8 to f32
    %2 = arith.mulf %0, %s : f32
    %3 = arith.mulf %2, %1 : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32""",
        )
        self.assertEqual(self.accumulators(text), ["f32"])

    def test_sums_of_squares_and_of_scaled_accumulators_are_none(self) -> None:
        square = """^bb0(%a: f32, %m: f32, %o: f32):
    %0 = arith.subf %a, %m : f32
    %1 = arith.mulf %0, %0 : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32"""
        self.assertEqual(
            self.accumulators(_generic("tensor<4x8xf32> tensor<4xf32>", "#k, #r", square)), []
        )
        mean = """^bb0(%a: i32, %s: f32, %o: f32):
    %0 = arith.sitofp %a : i32 to f32
    %1 = arith.mulf %0, %s : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32"""
        self.assertEqual(
            self.accumulators(_generic("tensor<4x8xi32> tensor<8xf32>", "#k, #c", mean)), []
        )

    def test_maximum_of_products_is_none(self) -> None:
        body = """^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.maximumf %o, %0 : f32
    linalg.yield %1 : f32"""
        self.assertEqual(
            self.accumulators(_generic("tensor<4x8xf32> tensor<8xf32>", "#k, #c", body)), []
        )

    def test_named_operations(self) -> None:
        text = """
func.func @f(%x: tensor<1x6x6x4xf32>, %w: tensor<3x3x4xf32>, %p: tensor<2x2xf32>,
             %y: tensor<1x4x4x4xf32>, %z: tensor<1x5x5x4xf32>)
    -> (tensor<1x4x4x4xf32>, tensor<1x5x5x4xf32>) {
  %0 = linalg.depthwise_conv_2d_nhwc_hwc
      ins(%x, %w : tensor<1x6x6x4xf32>, tensor<3x3x4xf32>) outs(%y : tensor<1x4x4x4xf32>)
      -> tensor<1x4x4x4xf32>
  %1 = linalg.pooling_nhwc_sum
      ins(%x, %p : tensor<1x6x6x4xf32>, tensor<2x2xf32>) outs(%z : tensor<1x5x5x4xf32>)
      -> tensor<1x5x5x4xf32>
  return %0, %1 : tensor<1x4x4x4xf32>, tensor<1x5x5x4xf32>
}
"""
        self.assertEqual(self.accumulators(text), ["f32"])


if __name__ == "__main__":
    unittest.main()
