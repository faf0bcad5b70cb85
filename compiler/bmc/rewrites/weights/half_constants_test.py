"""Tests that weights which are only stored in f16 are f32 on the target."""

from __future__ import annotations

import unittest

import numpy as np
import support

from bmc.rewrites.weights import half_constants

_WEIGHTS = np.random.default_rng(3).standard_normal((16, 24)).astype(np.float16)
_STORED = f"""func.func @main(%x: tensor<4x16xf32>) -> tensor<4x24xf32> {{
  %w = stablehlo.constant dense<"0x{_WEIGHTS.T.tobytes().hex()}"> : tensor<24x16xf16>
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<24x16xf16>) -> tensor<16x24xf16>
  %f = stablehlo.convert %t : (tensor<16x24xf16>) -> tensor<16x24xf32>
  %0 = stablehlo.dot_general %x, %f, contracting_dims = [1] x [0]
    : (tensor<4x16xf32>, tensor<16x24xf32>) -> tensor<4x24xf32>
  return %0 : tensor<4x24xf32>
}}
"""
_ADDED = """
#same = affine_map<(d) -> (d)>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = arith.constant dense<[1.0, -2.0, 0.5, 65504.0]> : tensor<4xf16>
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
      ins(%w, %x : tensor<4xf16>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f16, %b: f32, %out: f32):
    %f = arith.extf %a : f16 to f32
    %s = arith.addf %f, %b : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


class StoredHalvesTest(support.OptimizedTest):
    def test_weights_are_f32(self) -> None:
        text = self.rewritten(_STORED, half_constants.apply)
        self.assertNotIn("f16", text)
        x = np.random.default_rng(4).standard_normal((4, 16)).astype(np.float32)
        found = self.run_rewritten(x)
        np.testing.assert_allclose(found, x @ _WEIGHTS.astype(np.float32), rtol=1e-5, atol=1e-5)

    def test_iree_leaves_the_conversion(self) -> None:
        # If this fails, IREE evaluates it, and the rewrite can go.
        self.assertIn("xf16>", self.rewritten(_STORED, lambda *_: None))

    def test_an_operation_with_other_operands(self) -> None:
        text = support.rewritten(_ADDED, half_constants.apply)
        self.assertNotIn("f16", text)
        self.assertIn("[1.000000e+00, -2.000000e+00, 5.000000e-01, 6.550400e+04]", text)

    def test_what_computes_in_f16_stays(self) -> None:
        half = _ADDED.replace("%f = arith.extf %a : f16 to f32", "%h = arith.addf %a, %a : f16\n")
        half = half.replace("%s = ", "%f = arith.extf %h : f16 to f32\n%s = ")
        self.assertIn("tensor<4xf16>", support.rewritten(half, half_constants.apply))


if __name__ == "__main__":
    unittest.main()
