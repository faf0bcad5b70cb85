"""Tests that conversions between f32 and f16 are exact with integers, and that what computes in f16 is refused."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np
import support

from bmc import target
from bmc.kernels.problem.elementwise import Elementwise
from bmc.rewrites.context import Context
from bmc.rewrites.iree import soft_halves

_WITHOUT, _WITH = (
    Context(target.find("rv64gcv_zvl128b")),
    Context(target.find("rv64gcv_zfh_zvfh_zvl128b")),
)
_CONVERTS = """func.func @main(%x: tensor<{n}xf32>) -> (tensor<{n}xf16>, tensor<{n}xf32>) {{
  %0 = tensor.empty() : tensor<{n}xf16>
  %1 = tensor.empty() : tensor<{n}xf32>
  %2:2 = linalg.generic {{indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
      iterator_types = ["parallel"]}} ins(%x : tensor<{n}xf32>) outs(%0, %1 : tensor<{n}xf16>, tensor<{n}xf32>) {{
  ^bb0(%in: f32, %a: f16, %b: f32):
    %h = arith.truncf %in : f32 to f16
    %w = arith.extf %h : f16 to f32
    linalg.yield %h, %w : f16, f32
  }} -> (tensor<{n}xf16>, tensor<{n}xf32>)
  return %2#0, %2#1 : tensor<{n}xf16>, tensor<{n}xf32>
}}
"""
# The body of such a product extends its operands by itself.
_PRODUCT = """func.func @main(%x: tensor<2x4xf32>, %y: tensor<4x1xf16>) -> tensor<2x1xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x1xf32>
  %r = linalg.matmul ins(%x, %y : tensor<2x4xf32>, tensor<4x1xf16>) outs(%zero : tensor<2x1xf32>) -> tensor<2x1xf32>
  return %r : tensor<2x1xf32>
}
"""
_COMPUTES = """func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.convert %x : (tensor<64xf32>) -> tensor<64xf16>
  %1 = stablehlo.add %0, %0 : tensor<64xf16>
  %2 = stablehlo.convert %1 : (tensor<64xf16>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
"""
_MOVES = """func.func @main(%x: tensor<8x24xf16>) -> tensor<24x9xf16> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x24xf16>) -> tensor<24x8xf16>
  %1 = stablehlo.slice %0 [0:24, 0:1] : (tensor<24x8xf16>) -> tensor<24x1xf16>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<24x8xf16>, tensor<24x1xf16>) -> tensor<24x9xf16>
  return %2 : tensor<24x9xf16>
}
"""


def _numbers() -> Any:
    """All finite numbers of f16, the middles between neighbors, what is beside the middles, and what is beyond."""
    bits = np.arange(0x7C00, dtype=np.uint16)
    halves = bits.view(np.float16).astype(np.float32)
    middles = (halves[1:] + halves[:-1]) / 2
    outside = [65519.996, 65520, 65536, 1e30, np.inf, 1e-30, 2.0**-25, 2.0**-26]
    beyond = np.array(outside, np.float32)
    sides = [np.nextafter(middles, np.float32(side)) for side in (0, np.inf)]
    positive = np.concatenate([halves, middles, *sides, beyond])
    return np.concatenate([positive, -positive])


class SoftHalvesTest(support.FolderTest):
    def run_host(self, text: str, numbers: Any) -> tuple[Any, Any]:
        half, wide = self.run_host_on(text, numbers)
        return half, wide

    def run_host_on(self, text: str, *inputs: Any) -> list[Any]:
        from iree import runtime
        from iree.compiler import tools

        compiled = tools.compile_str(
            text, target_backends=["llvm-cpu"], extra_args=["--iree-llvmcpu-target-cpu=generic"]
        )
        module = runtime.load_vm_flatbuffer(compiled, driver="local-sync")
        found = module["main"](*inputs)
        return [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]

    def test_conversions_round_as_numpy_does(self) -> None:
        numbers = _numbers()
        text = _CONVERTS.format(n=len(numbers))
        found = support.rewritten(text, soft_halves.apply, context=_WITHOUT)
        self.assertNotRegex(found, "truncf|extf")
        half, wide = self.run_host(found, numbers)
        with np.errstate(over="ignore"):
            expected = numbers.astype(np.float16)
        np.testing.assert_array_equal(half.view(np.uint16), expected.view(np.uint16))
        np.testing.assert_array_equal(wide, expected.astype(np.float32))

    def test_an_operand_of_a_product_with_a_name(self) -> None:
        found = support.rewritten(_PRODUCT, soft_halves.apply, context=_WITHOUT)
        self.assertNotIn("arith.extf", found)
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        y = np.array([[0.1], [-2], [6e-8], [65504]], np.float16)
        (got,) = self.run_host_on(found, x, y)
        np.testing.assert_allclose(got, x @ y.astype(np.float32), 1e-6)

    def test_nan_stays_nan(self) -> None:
        numbers = np.array([0x7F800001, 0x7FC00000, 0xFFFFFFFF], np.uint32).view(np.float32)
        found = support.rewritten(_CONVERTS.format(n=3), soft_halves.apply, context=_WITHOUT)
        for result in self.run_host(found, numbers):
            self.assertTrue(np.isnan(result).all(), result)

    def test_what_computes_is_refused_with_the_line(self) -> None:
        self.refuses(
            "no-f16",
            "computes 'addf' in f16, and rv64gcv_zvl128b has no instructions for that (at source.mlir:3)",
            "rv64gcv_zfh_zvfh_zvl128b",
            call=lambda: support.lower_text(_COMPUTES, self.folder, "rv64gcv_zvl128b"),
        )
        for isa in ("rv64gc", "rv32imac", "rv32imafc_zve32f_zvl128b"):
            self.assertTrue(soft_halves.applies(Context(target.find(isa))), isa)

    def test_a_hart_with_f16_keeps_them(self) -> None:
        self.assertFalse(soft_halves.applies(_WITH))
        support.lower_text(_COMPUTES, self.folder, "rv64gcv_zfh_zvfh_zvl128b")

    def test_moves_get_no_kernel_with_instructions_for_f16(self) -> None:
        lowered = support.lower_text(_MOVES, self.folder / "without", "rv64gcv_zvl128b").lowered
        self.assertFalse(any(config.own for config in lowered.configs))
        lowered = support.lower_text(_MOVES, self.folder / "with", _WITH.target.isa).lowered
        self.assertTrue(any(config.own for config in lowered.configs))
        # The negative control: else they would get such kernels.
        with mock.patch.object(Elementwise, "halves", frozenset()):
            lowered = support.lower_text(_MOVES, self.folder / "no", "rv64gcv_zvl128b").lowered
        self.assertTrue(any(config.own for config in lowered.configs))


if __name__ == "__main__":
    unittest.main()
