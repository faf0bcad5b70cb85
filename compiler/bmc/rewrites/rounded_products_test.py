"""Tests that products which decide about a whole number are rounded, and others are left to be fused."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

import convolutions
import support

from bmc.rewrites import rounded_products

_REPORT = Path("docs/upstream/iree-contracted-products.md")
# vfmadd and its seven relatives, of two vectors or a vector and a scalar.
_FUSED = ((0xE000707F, 0xA0001057), (0xE000707F, 0xA0005057))


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


class KernelTest(support.FolderTest):
    def fused(self, *without: str) -> int:
        (model,) = re.findall(r"^```mlir\n(.*?)^```", _REPORT.read_text(), re.M | re.S)
        with support.without("own_kernels", *without):
            code = convolutions.words(model, self.folder)
        return sum(convolutions.count(code, pattern) for pattern in _FUSED)

    def test_llvm_does_not_fuse_them(self) -> None:
        self.assertEqual(self.fused(), 0)

    def test_without_the_rewrite_they_are_fused_as_reported(self) -> None:
        self.assertGreater(self.fused("rounded_products"), 0)


if __name__ == "__main__":
    unittest.main()
