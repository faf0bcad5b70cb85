"""Tests that products which decide about a whole number or cancel are rounded, and others are left to be fused."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

import convolutions
import support

from bmc.rewrites.iree import rounded_products

_REPORT = Path("docs/upstream/iree-contracted-products.md")
# vfmadd and its seven relatives, of two vectors or a vector and a scalar.
_FUSED = ((0xE000707F, 0xA0001057), (0xE000707F, 0xA0005057))
# As TensorFlow's normalization ends.
_NORMALIZATION = """func.func @main(%x: tensor<4x64xf32>, %mean: tensor<4xf32>, %s: tensor<4xf32>, %c: tensor<64xf32>)
    -> tensor<4x64xf32> {
  %scale = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xf32>) -> tensor<4x64xf32>
  %means = stablehlo.broadcast_in_dim %mean, dims = [0] : (tensor<4xf32>) -> tensor<4x64xf32>
  %beta = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<64xf32>) -> tensor<4x64xf32>
  %0 = stablehlo.multiply %x, %scale : tensor<4x64xf32>
  %1 = stablehlo.multiply %means, %scale : tensor<4x64xf32>
  %2 = stablehlo.subtract %beta, %1 : tensor<4x64xf32>
  %3 = stablehlo.add %0, %2 : tensor<4x64xf32>
  return %3 : tensor<4x64xf32>
}
"""


class RewriteTest(unittest.TestCase):
    def test_products_that_are_summed_before_a_jump(self) -> None:
        text = support.rewritten(
            """func.func @f(%a: vector<2x4xf32>, %b: vector<2x4xf32>, %x: f32) -> (vector<2x4xi1>, f32, f32) {
  %product = arith.mulf %a, %b : vector<2x4xf32>
  %sum = arith.subf %b, %product : vector<2x4xf32>
  %large = arith.maximumf %sum, %a : vector<2x4xf32>
  %0 = arith.cmpf ogt, %large, %b : vector<2x4xf32>
  %alone = arith.mulf %x, %x : f32
  %floor = math.floor %alone : f32
  %other = arith.mulf %x, %floor : f32
  %total = arith.addf %other, %x : f32
  return %0, %floor, %total : vector<2x4xi1>, f32, f32
}
""",
            rounded_products.apply,
        )
        self.assertIn("dense<-0.000000e+00> : vector<2x4xf32>", text)
        self.assertIn("math.fma %arg0, %arg1, %", text)
        # Nothing is added to one, and nothing jumps after the other.
        self.assertEqual((text.count("math.fma"), text.count("arith.mulf")), (1, 2))

    def test_products_that_several_jumps_read(self) -> None:
        text = support.rewritten(
            """func.func @f(%a: f32, %b: f32) -> (i1, i1, i1, i1) {
  %p = arith.mulf %a, %b : f32
  %q = arith.mulf %b, %b : f32
  %s = arith.addf %p, %a : f32
  %t = arith.addf %q, %a : f32
  %0 = arith.cmpf ogt, %p, %s : f32
  %1 = arith.cmpf ogt, %q, %t : f32
  %2 = arith.cmpf olt, %p, %s : f32
  %3 = arith.cmpf olt, %q, %t : f32
  return %0, %1, %2, %3 : i1, i1, i1, i1
}
""",
            rounded_products.apply,
        )
        self.assertEqual((text.count("math.fma"), text.count("arith.mulf")), (2, 0))

    def test_products_that_cancel(self) -> None:
        text = support.rewritten(
            """func.func @f(%x: vector<4xf32>, %m: f32, %s: f32, %c: vector<4xf32>) -> (vector<4xf32>, f32, f32) {
  %two = arith.constant 2.0 : f32
  %wide = vector.broadcast %s : f32 to vector<4xf32>
  %xs = arith.mulf %x, %wide : vector<4xf32>
  %less = arith.negf %m : f32
  %ms = arith.mulf %s, %less : f32
  %all = vector.broadcast %ms : f32 to vector<4xf32>
  %rest = arith.addf %all, %c : vector<4xf32>
  %0 = arith.addf %xs, %rest : vector<4xf32>
  %p = arith.mulf %m, %two : f32
  %q = arith.mulf %s, %two : f32
  %1 = arith.subf %p, %q : f32
  %r = arith.mulf %m, %m : f32
  %t = arith.mulf %s, %s : f32
  %2 = arith.subf %r, %t : f32
  return %0, %1, %2 : vector<4xf32>, f32, f32
}
""",
            rounded_products.apply,
        )
        # A constant factor is the same for all, and the last two products have none in common.
        self.assertEqual((text.count("math.fma"), text.count("arith.mulf")), (2, 4))


class KernelTest(support.FolderTest):
    def fused(self, *without: str, model: str = "") -> int:
        (report,) = re.findall(r"^```mlir\n(.*?)^```", _REPORT.read_text(), re.M | re.S)
        model = model or report
        with support.without("own_kernels", *without):
            code = convolutions.words(model, self.folder)
        return sum(convolutions.count(code, pattern) for pattern in _FUSED)

    def test_llvm_does_not_fuse_them(self) -> None:
        self.assertEqual(self.fused(), 0)
        self.assertEqual(self.fused(model=_NORMALIZATION), 0)

    def test_without_the_rewrite_they_are_fused_as_reported(self) -> None:
        for model in ("", _NORMALIZATION):
            self.assertGreater(self.fused("rounded_products", model=model), 0)


if __name__ == "__main__":
    unittest.main()
