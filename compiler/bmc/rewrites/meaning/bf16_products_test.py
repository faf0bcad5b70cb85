"""Tests that matrix products read what was bf16 as bf16, by the IR and by what IREE computes of it."""

from __future__ import annotations

import unittest

import ml_dtypes
import numpy as np
import support

from bmc.rewrites.meaning import bf16_products

_LINEAR = """func.func @main(%x: tensor<3x40xbf16>, %w: tensor<40x5xbf16>) -> tensor<3x5xf32> {
  %a = stablehlo.convert %x : (tensor<3x40xbf16>) -> tensor<3x40xf32>
  %b = stablehlo.convert %w : (tensor<40x5xbf16>) -> tensor<40x5xf32>
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<3x40xf32>, tensor<40x5xf32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
"""


class Bf16ProductsTest(support.FolderTest):
    def test_operands_are_read_as_they_are(self) -> None:
        text = support.rewritten(_LINEAR, bf16_products.apply)
        self.assertRegex(text, r"dot_general %arg0, %arg1,.*bf16>.*bf16>\) -> tensor<3x5xf32>")

    def test_sums_are_f32(self) -> None:
        """Of 1 and forty times 1/256, bf16 would stay at 1 if it added them up one by one."""
        x = np.full((3, 40), 1 / 256, ml_dtypes.bfloat16)
        x[:, 0] = 1
        w = np.ones((40, 5), ml_dtypes.bfloat16)
        (got,) = self.on_host(_LINEAR, x, w)
        np.testing.assert_array_equal(got, np.full((3, 5), 1 + 39 / 256, np.float32))

    def test_others_stay(self) -> None:
        """One operand has more bits than bf16, or was an integer."""
        computed = "  %b = stablehlo.exponential %w : tensor<40x5xf32>\n"
        lines = _LINEAR.splitlines(keepends=True)
        lines[0] = lines[0].replace("40x5xbf16", "40x5xf32")
        for text in (
            "".join((*lines[:2], computed, *lines[3:])),
            _LINEAR.replace("3x40xbf16", "3x40xi8"),
        ):
            got = support.rewritten(text, bf16_products.apply)
            self.assertRegex(got, r"dot_general .* : \(tensor<3x40xf32>, tensor<40x5xf32>\)")


if __name__ == "__main__":
    unittest.main()
