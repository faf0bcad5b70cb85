"""Tests the calls on harts without F, and the refusal of functions that IREE's library gets wrong."""

from __future__ import annotations

import unittest

import support

from bmc.iree import linking
from bmc.rewrites import soft_fma

_KERNEL = """builtin.module {
  llvm.func @kernel(%v: vector<3xf32>, %x: f32) -> f32 {
    %0 = llvm.intr.fma(%v, %v, %v) : (vector<3xf32>, vector<3xf32>, vector<3xf32>) -> vector<3xf32>
    %i = llvm.mlir.constant(2 : i32) : i32
    %1 = llvm.extractelement %0[%i : i32] : vector<3xf32>
    %2 = llvm.intr.fma(%1, %x, %x) : (f32, f32, f32) -> f32
    llvm.return %2 : f32
  }
}
"""
_FLOOR = """func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.floor %x : tensor<4xf64>
  return %0 : tensor<4xf64>
}
"""


class SoftFmaTest(support.FolderTest):
    def rewritten(self, kernel: str) -> str:
        return support.rewritten(f"module {{\n{kernel}}}\n", soft_fma.apply)

    def test_elements_are_computed_by_calls(self) -> None:
        text = self.rewritten(_KERNEL)
        self.assertNotIn("llvm.intr.fma", text)
        self.assertEqual(text.count("llvm.call @bm_fmaf("), 4)
        self.assertEqual(text.count("llvm.func @bm_fmaf(f32, f32, f32) -> f32"), 1)

    def test_other_types_stay(self) -> None:
        text = self.rewritten(_KERNEL.replace("f32", "f64"))
        self.assertEqual(text.count("llvm.intr.fma"), 2)
        self.assertNotIn("llvm.call", text)

    def test_every_fma_of_a_model_is_a_call_of_ours(self) -> None:
        # No archive here has the function, so the linker's error names it.
        text = support.ADD.replace("add %x, %x", "tanh %x")
        error = self.refuses(
            "missing-function",
            "bm_fmaf",
            call=lambda: support.lower_text(text, self.folder, "rv32imac"),
        )
        self.assertNotIn(" fmaf", str(error))


class BrokenFunctionTest(support.FolderTest):
    def check(self, line: str) -> None:
        (self.folder / "link.map").write_text(
            f"  8c0 8c0 0 2         /tmp/main-1.o:({line})\n", encoding="utf-8"
        )
        linking.check(self.folder)

    def test_map_of_the_linker(self) -> None:
        self.refuses("broken-function", "call fmaf, which", call=lambda: self.check(".text.fmaf"))
        self.check(".text.floorf")
        self.check(".rodata.exp")

    def test_a_model_that_calls_one(self) -> None:
        for isa in ("rv32imac", "rv32imafc_zve32f_zvl128b"):
            self.refuses(
                "broken-function",
                "the kernels call floor, which",
                call=lambda i=isa: support.lower_text(_FLOOR, self.folder, i),
            )
        # The 64-bit library is correct.
        support.lower_text(_FLOOR, self.folder, "rv64gc")


if __name__ == "__main__":
    unittest.main()
