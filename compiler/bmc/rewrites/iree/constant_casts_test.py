"""Tests that constant floats are truncated when they become integers, as everywhere else."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

import numpy as np
import support

from bmc.rewrites.iree import constant_casts

_REPORT = Path("docs/upstream/iree-vm-float-to-int.md")

# Mixes constants that are converted with an input, because a result must not be a constant.
_STABLEHLO = """
func.func @main(%x: tensor<64xi32>) -> tensor<64xi32> {
  %a = stablehlo.constant dense<"0xBYTES"> : tensor<64xf32>
  %b = stablehlo.convert %a : (tensor<64xf32>) -> tensor<64xi32>
  %1 = stablehlo.xor %x, %b : tensor<64xi32>
  return %1 : tensor<64xi32>
}
"""
_LINALG = """
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<64xi32>) -> tensor<64xi32> {
  %a = arith.constant dense<"0xBYTES"> : tensor<64xf32>
  %e = tensor.empty() : tensor<64xi32>
  %b = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%a : tensor<64xf32>) outs(%e : tensor<64xi32>) {
  ^bb0(%i: f32, %o: i32):
    %c = arith.fptosi %i : f32 to i32
    linalg.yield %c : i32
  } -> tensor<64xi32>
  %1 = arith.xori %x, %b : tensor<64xi32>
  return %1 : tensor<64xi32>
}
"""
_VALUES = np.linspace(-100, 100, 64).astype(np.float32)


class ConstantCastsTest(support.FolderTest):
    def _weights(self, text: str) -> list[int]:
        support.compile_text(text.replace("BYTES", _VALUES.tobytes().hex()), self.folder)
        found: list[int] = np.fromfile(self.folder / "out/weights.bin", np.int32)[:64].tolist()
        return found

    def test_stored_integers_are_truncated(self) -> None:
        for text in (_STABLEHLO, _LINALG):
            self.assertEqual(self._weights(text), _VALUES.astype(np.int32).tolist())

    def test_iree_alone_rounds_as_reported(self) -> None:
        (module,) = re.findall(
            r"^```mlir\n(.*?)^```", _REPORT.read_text(encoding="utf-8"), re.M | re.S
        )
        with support.without("constant_casts"):
            support.compile_text(module, self.folder)
        weights = np.fromfile(self.folder / "out/weights.bin", np.int32)[:64]
        rounded = list(range(1, 65))
        fixed = "IREE has fixed this: drop rewrites/iree/constant_casts.py"
        self.assertEqual(weights.tolist(), rounded, fixed)

    def test_only_constants_are_rewritten(self) -> None:
        for text, name in ((_STABLEHLO, "stablehlo.floor"), (_LINALG, "math.floor")):
            text = text.replace("BYTES", _VALUES.tobytes().hex())
            self.assertIn(name, support.rewritten(text, constant_casts.apply))
            of_input = re.sub(r"%a = .*\n", "", text).replace(
                "%x: tensor<64xi32>", "%x: tensor<64xi32>, %a: tensor<64xf32>"
            )
            self.assertNotIn(name, support.rewritten(of_input, constant_casts.apply))

    def test_a_comparison_with_zero_is_left_alone(self) -> None:
        text = """
func.func @main() -> tensor<2xi1> {
  %a = stablehlo.constant dense<[0.3, 0.0]> : tensor<2xf32>
  %b = stablehlo.convert %a : (tensor<2xf32>) -> tensor<2xi1>
  return %b : tensor<2xi1>
}
"""
        self.assertNotIn("floor", support.rewritten(text, constant_casts.apply))


if __name__ == "__main__":
    unittest.main()
