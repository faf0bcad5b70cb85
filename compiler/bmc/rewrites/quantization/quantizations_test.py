"""Tests quantizations of images that were spelled out, by what they compute."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import support
from iree.compiler import ir

from bmc.ir import ir_util
from bmc.rewrites.context import Context
from bmc.rewrites.quantization import quantizations

_TEXT = """
#i = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#s = affine_map<(d0, d1, d2) -> ()>
func.func @main(%x: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %scale = arith.constant {SCALE} : f32
  %zp = arith.constant {ZERO_POINT} : i32
  %bytes = tensor.empty() : tensor<2x3x8xi8>
  %floats = tensor.empty() : tensor<2x3x8xf32>
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#i, #s, #s, #i], quant_min = {MIN}, quant_max = {MAX}>
      ins(%x, %scale, %zp : tensor<2x3x8xf32>, f32, i32) outs(%bytes : tensor<2x3x8xi8>) -> tensor<2x3x8xi8>
  %d = iree_linalg_ext.dequantize_affine <indexing_maps = [#i, #s, #s, #i], quant_min = {MIN}, quant_max = {MAX}>
      ins(%q, %scale, %zp : tensor<2x3x8xi8>, f32, i32) outs(%floats : tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %d : tensor<2x3x8xf32>
}
"""


def _spell_out(module: Any, _: Context) -> None:
    for op in list(ir_util.walk(module.operation)):
        if op.name.startswith("iree_linalg_ext."):
            with ir.InsertionPoint(op), op.location:
                new = quantizations.spelled_out(op, op.operands[0])
            if new is not None:
                op.results[0].replace_all_uses_with(new)
                op.erase()


class QuantizationsTest(support.OptimizedTest):
    def text(self, scale: float, zero_point: int, low: int = -128, high: int = 127) -> str:
        values = {"SCALE": scale, "ZERO_POINT": zero_point, "MIN": low, "MAX": high}
        text = _TEXT
        for name, value in values.items():
            text = text.replace("{" + name + "}", str(value))
        return self.rewritten(text, _spell_out)

    def test_they_compute_what_quantization_does(self) -> None:
        x = np.linspace(-9, 9, 48, dtype=np.float32).reshape(2, 3, 8)
        x[0, 0, :3] = 0.25, 0.75, np.nan
        for scale, zero_point, low, high in (
            (0.5, 0, -128, 127),
            (0.05, 3, -128, 127),
            (1.0, -7, -8, 7),
        ):
            with self.subTest(scale=scale, zero_point=zero_point):
                text = self.text(scale, zero_point, low, high)
                self.assertNotIn("iree_linalg_ext", text)
                steps = np.rint(x / np.float32(scale)) + np.float32(zero_point)
                # maxnum turns a NaN into the lower end.
                steps = np.clip(np.where(np.isnan(steps), low, steps), low, high)
                want = (steps - zero_point).astype(np.float32) * np.float32(scale)
                np.testing.assert_array_equal(self.run_rewritten(x), want)

    def test_bytes_that_may_be_unsigned_are_left_alone(self) -> None:
        text = self.text(0.5, 3, 0, 127)
        self.assertEqual(text.count("iree_linalg_ext."), 2)


if __name__ == "__main__":
    unittest.main()
