"""Quantizing with an addition gives the same bits as rounding."""

from __future__ import annotations

import unittest

import numpy as np
import support

from bmc import reference
from bmc.dtype import Array
from bmc.iree.tool import IreeTool
from bmc.rewrites import rounding

_SCALE = 0.1
_SIZE = 4096
_TEXT = """
#i = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>
func.func @main(%x: tensor<{SIZE}xf32>) -> tensor<{SIZE}xi8> {
  %scale = arith.constant {SCALE} : f32
  %zp = arith.constant {ZERO_POINT} : i32
  %empty = tensor.empty() : tensor<{SIZE}xi8>
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#i, #s, #s, #i], quant_min = {MIN}, quant_max = {MAX}>
      ins(%x, %scale, %zp : tensor<{SIZE}xf32>, f32, i32) outs(%empty : tensor<{SIZE}xi8>)
      -> tensor<{SIZE}xi8>
  return %q : tensor<{SIZE}xi8>
}
"""


def _inputs() -> Array:
    """Returns ties, their neighbors, both ends of the range and beyond, zeros, infinities and NaN."""
    steps = np.arange(-400, 400, 0.5, dtype=np.float32) * np.float32(_SCALE)
    special = np.array([0.0, -0.0, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
    up, down = np.nextafter(steps, np.float32(np.inf)), np.nextafter(steps, np.float32(-np.inf))
    rng = np.random.default_rng(0)
    values = np.concatenate([steps, up, special, down])[:_SIZE]
    rest = rng.standard_normal(_SIZE - len(values)) * 10
    return np.concatenate([values, rest.astype(np.float32)])


class RoundingTest(support.FolderTest):
    def kernels(self, text: str) -> str:
        """Compiles to phase flow and applies the rewrite; writes rewritten.mlir and returns its text."""
        tool = IreeTool(self.folder, self.folder / "reproducer")
        self.write("source.mlir", text)
        flags = (*reference.HOST_FLAGS, "--compile-to=flow", "--emit-mlir-bytecode")
        tool.compile("source.mlir", "flow.mlirbc", *flags)
        tool.opt("flow.mlirbc", "flow.mlir")
        flow = (self.folder / "flow.mlir").read_text(encoding="utf-8")
        rewritten = support.rewritten(flow, rounding.apply)
        self.write("rewritten.mlir", rewritten)
        return rewritten

    def run_rewritten(self, x: Array) -> Array:
        from iree import runtime

        tool = IreeTool(self.folder, self.folder / "reproducer")
        flags = (*reference.HOST_FLAGS, "--compile-from=flow")
        tool.compile("rewritten.mlir", "model.vmfb", *flags)
        data = (self.folder / "model.vmfb").read_bytes()
        module = runtime.load_vm_flatbuffer(data, driver="local-sync")
        return np.array(np.asarray(module["main"](x)))

    def check(self, zero_point: int, low: int, high: int) -> None:
        text = _TEXT
        for name, value in {
            "SIZE": _SIZE,
            "SCALE": _SCALE,
            "ZERO_POINT": zero_point,
            "MIN": low,
            "MAX": high,
        }.items():
            text = text.replace("{" + name + "}", str(value))
        rewritten = self.kernels(text)
        self.assertNotIn("roundeven", rewritten)
        self.assertIn("arith.bitcast", rewritten)
        x = _inputs()
        steps = np.rint(x / np.float32(_SCALE)) + np.float32(zero_point)
        # maxnum turns a NaN into the lower end.
        want = np.clip(np.where(np.isnan(steps), low, steps), low, high).astype(np.int8)
        got = self.run_rewritten(x)
        np.testing.assert_array_equal(got, want)

    def test_symmetric(self) -> None:
        self.check(0, -127, 127)

    def test_odd_zero_point(self) -> None:
        self.check(-77, -128, 127)

    def test_ends_as_zero_point(self) -> None:
        self.check(-128, -128, 127)
        self.check(127, -128, 127)

    def test_only_ties_to_even_are_an_addition(self) -> None:
        text = """func.func @f(%x: f32) -> i8 {
  %low = arith.constant -1.280000e+02 : f32
  %high = arith.constant 1.270000e+02 : f32
  %0 = math.MODE %x : f32
  %1 = arith.maxnumf %0, %low : f32
  %2 = arith.minnumf %1, %high : f32
  %3 = arith.fptosi %2 : f32 to i8
  return %3 : i8
}
"""
        for mode, is_addition in (("roundeven", True), ("round", False), ("floor", False)):
            rewritten = support.rewritten(text.replace("MODE", mode), rounding.apply)
            self.assertEqual("bitcast" in rewritten, is_addition, mode)

    def test_unclamped_conversions_are_left_alone(self) -> None:
        text = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xi8> {
  %0 = stablehlo.round_nearest_even %x : tensor<8xf32>
  %1 = stablehlo.convert %0 : (tensor<8xf32>) -> tensor<8xi8>
  return %1 : tensor<8xi8>
}
"""
        rewritten = self.kernels(text)
        self.assertIn("roundeven", rewritten)
        self.assertNotIn("bitcast", rewritten)


if __name__ == "__main__":
    unittest.main()
