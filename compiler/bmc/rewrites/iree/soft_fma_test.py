"""Tests the calls that replace fused multiply-adds on harts without F."""

from __future__ import annotations

import re
import unittest

import support

from bmc.rewrites.iree import soft_fma

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


class SoftFmaTest(support.FolderTest):
    def rewritten(self, kernel: str) -> str:
        return support.rewritten(f"module {{\n{kernel}}}\n", soft_fma.apply)

    def test_elements_are_computed_by_calls(self) -> None:
        text = self.rewritten(_KERNEL)
        self.assertNotIn("llvm.intr.fma", text)
        self.assertEqual(text.count("llvm.call @bm_fmaf("), 4)
        # Every element, and the one that the kernel takes.
        places = re.findall(r"llvm\.mlir\.constant\((\d) : i32\)", text)
        self.assertEqual(sorted(places), ["0", "1", "2", "2"])
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


if __name__ == "__main__":
    unittest.main()
