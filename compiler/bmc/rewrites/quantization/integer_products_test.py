"""Tests integer products as torch-mlir writes MatMulInteger, against NumPy, and which ones stay as they are."""

from __future__ import annotations

import re
import unittest

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.quantization import integer_products

_MATRICES, _BYTE = "affine_map<(d0, d1) -> (d0, d1)>", "affine_map<(d0, d1) -> ()>"
_PARALLEL = 'iterator_types = ["parallel", "parallel"]'


def _extended(name: str, source: str, shape: str, extension: str) -> str:
    return f"""
  %{name}_e = tensor.empty() : tensor<{shape}xi32>
  %{name}_w = linalg.generic {{indexing_maps = [{_MATRICES}, {_MATRICES}], {_PARALLEL}}}
      ins(%{source} : tensor<{shape}xi8>) outs(%{name}_e : tensor<{shape}xi32>) {{
  ^bb0(%in: i8, %out: i32):
    %0 = arith.{extension} %in : i8 to i32
    linalg.yield %0 : i32
  }} -> tensor<{shape}xi32>
  %{name} = linalg.generic {{indexing_maps = [{_MATRICES}, {_BYTE}, {_MATRICES}], {_PARALLEL}}}
      ins(%{name}_w, %{source}_zero : tensor<{shape}xi32>, tensor<i8>)
      outs(%{name}_e : tensor<{shape}xi32>) {{
  ^bb0(%in: i32, %zero: i8, %out: i32):
    %0 = arith.{extension} %zero : i8 to i32
    %1 = arith.subi %in, %0 : i32
    linalg.yield %1 : i32
  }} -> tensor<{shape}xi32>"""


def _model(left: str, right: str, weights: Array, zero: int) -> str:
    """Returns the product of 3 rows of 40 bytes and constant weights [40, 5]; both are extended as said."""
    return f"""func.func @main(%x: tensor<3x40xi8>, %x_zero: tensor<i8>) -> tensor<3x5xi32> {{
  %none = arith.constant 0 : i64
  %w = arith.constant dense<{weights.tolist()}> : tensor<40x5xi8>
  %w_zero = arith.constant dense<{zero}> : tensor<i8>
{_extended("a", "x", "3x40", left)}
{_extended("b", "w", "40x5", right)}
  %e = tensor.empty() : tensor<3x5xi64>
  %f = linalg.fill ins(%none : i64) outs(%e : tensor<3x5xi64>) -> tensor<3x5xi64>
  %sums = linalg.matmul ins(%a, %b : tensor<3x40xi32>, tensor<40x5xi32>)
      outs(%f : tensor<3x5xi64>) -> tensor<3x5xi64>
  %r = tensor.empty() : tensor<3x5xi32>
  %low = linalg.generic {{indexing_maps = [{_MATRICES}, {_MATRICES}], {_PARALLEL}}}
      ins(%sums : tensor<3x5xi64>) outs(%r : tensor<3x5xi32>) {{
  ^bb0(%in: i64, %out: i32):
    %0 = arith.trunci %in : i64 to i32
    linalg.yield %0 : i32
  }} -> tensor<3x5xi32>
  return %low : tensor<3x5xi32>
}}
"""


class IntegerProductsTest(support.FolderTest):
    def test_all_signs_and_zero_points(self) -> None:
        rng = np.random.default_rng(0)
        kinds = {"extsi": np.int8, "extui": np.uint8}
        for left, right, x_zero, w_zero in (
            ("extui", "extsi", 131, 0),
            ("extsi", "extsi", -7, 3),
            ("extui", "extui", 0, 128),
            ("extsi", "extui", 127, 120),
        ):
            x = rng.integers(0, 256, (3, 40)).astype(np.uint8).view(kinds[left])
            w = (w_zero + rng.integers(-7, 8, (40, 5))).astype(kinds[right])
            zero = np.array(x_zero).astype(kinds[left])
            want = (x.astype(np.int32) - int(zero)) @ (w.astype(np.int32) - w_zero)
            given = int(np.array(w_zero).astype(kinds[right]).view(np.int8))
            text = support.rewritten(
                _model(left, right, w.view(np.int8), given), integer_products.apply
            )
            with self.subTest(text=text):
                self.assertRegex(text, r"linalg\.matmul ins\(.*i8>, tensor<40x5xi8>\)")
                self.assertNotIn("i64", text.partition("linalg.matmul")[2])
                got = self.on_host(text, x.view(np.int8), zero.view(np.int8))
                np.testing.assert_array_equal(got[0], want)

    def test_others_stay_as_they_are(self) -> None:
        few = _model("extui", "extsi", np.ones((40, 5), np.int8), 0)
        maps = ("(i, j, k) -> (i, k)", "(i, j, k) -> (j, k)", "(i, j, k) -> (i, j)")
        transposed = _model("extui", "extsi", np.ones((5, 40), np.int8), 0).replace("40x5", "5x40")
        transposed = transposed.replace(
            "linalg.matmul ins",
            f"linalg.matmul indexing_maps = [{', '.join(f'affine_map<{m}>' for m in maps)}] ins",
        )
        scalar = few.replace("%x_zero: tensor<i8>", "%x_zero: i8")
        scalar = scalar.replace("tensor<3x40xi32>, tensor<i8>)", "tensor<3x40xi32>, i8)")
        for name, text in (
            ("weights of 9 bits", _model("extui", "extsi", np.full((40, 5), -100, np.int8), 100)),
            ("sums that start elsewhere", few.replace("constant 0 : i64", "constant 1 : i64")),
            (
                "results of 64 bits",
                few.replace(
                    "return %low", "util.optimization_barrier %sums : tensor<3x5xi64>\n return %low"
                ),
            ),
            ("transposed weights", transposed),
            ("a zero point that is no tensor", scalar),
            ("a sum", few.replace("arith.subi %in, %0", "arith.addi %in, %0")),
            ("two signs", re.sub(r"extui( %zero)", r"extsi\1", few)),
        ):
            with self.subTest(name):
                made = support.rewritten(text, integer_products.apply)
                self.assertNotIn("xori", made)
                self.assertRegex(made, r"linalg\.matmul .*ins\(.*i32>, tensor<(40x5|5x40)xi32>\)")

    def test_floats_stay_as_they_are(self) -> None:
        text = """func.func @main(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x5xf32>) -> tensor<3x5xf32>
  %r = linalg.matmul ins(%x, %w : tensor<3x4xf32>, tensor<4x5xf32>) outs(%f : tensor<3x5xf32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
"""
        self.assertEqual(support.rewritten(text, integer_products.apply), support.rewritten(text))


if __name__ == "__main__":
    unittest.main()
