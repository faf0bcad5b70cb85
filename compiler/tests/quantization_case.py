"""A quantization to int8, rewritten and run on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import support

from bmc import reference
from bmc.dtype import Array
from bmc.iree.tool import IreeTool
from bmc.rewrites.context import Context

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


def _inputs(scale: float) -> Array:
    """Returns ties, their neighbors, both ends of the range and beyond, zeros, infinities and NaN."""
    steps = np.arange(-400, 400, 0.5, dtype=np.float32) * np.float32(scale)
    special = np.array([0.0, -0.0, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
    up, down = np.nextafter(steps, np.float32(np.inf)), np.nextafter(steps, np.float32(-np.inf))
    rng = np.random.default_rng(0)
    values = np.concatenate([steps, up, special, down])[:_SIZE]
    rest = rng.standard_normal(_SIZE - len(values)) * 10
    return np.concatenate([values, rest.astype(np.float32)])


class QuantizationTest(support.FolderTest):
    """Compares a quantization after some rewrites with numpy.

    Attributes:
      rewrites: what is applied.
      leaves: names of operations that they must not leave.
    """

    rewrites: tuple[Callable[[Any, Context], None], ...]
    leaves: tuple[str, ...]

    def kernels(self, text: str) -> str:
        """Compiles to phase flow and applies the rewrites; writes rewritten.mlir and returns its text."""
        tool = IreeTool(self.folder, self.folder / "reproducer")
        self.write("source.mlir", text)
        flags = (*reference.HOST_FLAGS, "--compile-to=flow", "--emit-mlir-bytecode")
        tool.compile("source.mlir", "flow.mlirbc", *flags)
        tool.opt("flow.mlirbc", "flow.mlir")
        flow = (self.folder / "flow.mlir").read_text(encoding="utf-8")
        rewritten = support.rewritten(flow, *self.rewrites)
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

    def check(self, zero_point: int, low: int, high: int, scale: float = 0.1) -> None:
        text = _TEXT
        for name, value in {
            "SIZE": _SIZE,
            "SCALE": f"{scale:.12f}",
            "ZERO_POINT": zero_point,
            "MIN": low,
            "MAX": high,
        }.items():
            text = text.replace("{" + name + "}", str(value))
        rewritten = self.kernels(text)
        for name in self.leaves:
            self.assertNotIn(name, rewritten)
        self.assertIn("arith.bitcast", rewritten)
        x = _inputs(scale)
        steps = np.rint(x / np.float32(scale)) + np.float32(zero_point)
        # maxnum turns a NaN into the lower end.
        want = np.clip(np.where(np.isnan(steps), low, steps), low, high).astype(np.int8)
        got = self.run_rewritten(x)
        np.testing.assert_array_equal(got, want)
