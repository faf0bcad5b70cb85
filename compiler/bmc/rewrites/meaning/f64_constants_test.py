"""Tests that f64 constants become the nearest f32, as in every framework."""

from __future__ import annotations

import unittest
from unittest import mock

import ml_dtypes
import numpy as np
import support

from bmc.rewrites.meaning import f64_constants

_X = "tensor<2xf32>"
_CLAMP = f"""func.func @main(%x: {_X}) -> {_X} {{
  %a = stablehlo.constant dense<0.1> : tensor<f64>
  %b = stablehlo.convert %a : (tensor<f64>) -> tensor<f32>
  %e = tensor.empty() : {_X}
  %c = arith.constant 0.3 : f64
  %0 = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}} ins(%x : {_X}) outs(%e : {_X}) {{
  ^bb0(%in: f32, %out: f32):
    %n = arith.truncf %c : f64 to f32
    %m = arith.minimumf %in, %n : f32
    linalg.yield %m : f32
  }} -> {_X}
  %1 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> {_X}
  %2 = stablehlo.maximum %0, %1 : {_X}
  return %2 : {_X}
}}
"""
# 1.0, -2.0, 0.5 and 3.0, behind four bytes that say how they are aligned.
_BRAIN = f"""func.func @main(%x: {_X}) -> {_X} {{
  %w = arith.constant dense_resource<weights> : tensor<2x2xbf16>
  %a = stablehlo.convert %x : ({_X}) -> tensor<2xbf16>
  %0 = stablehlo.dot_general %w, %a, contracting_dims = [1] x [0] : (tensor<2x2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  %1 = stablehlo.convert %0 : (tensor<2xbf16>) -> {_X}
  return %1 : {_X}
}}
{{-# dialect_resources: {{builtin: {{weights: "0x02000000803F00C0003F4040"}}}} #-}}
"""
_HALF = f"""func.func @main(%x: {_X}) -> {_X} {{
  %a = arith.constant dense<0.1> : tensor<1xf64>
  %s = stablehlo.convert %a : (tensor<1xf64>) -> tensor<1xf16>
  %b = stablehlo.reshape %s : (tensor<1xf16>) -> tensor<f16>
  %i = stablehlo.constant dense<0x7C00> : tensor<f16>
  %h = stablehlo.convert %x : ({_X}) -> tensor<2xf16>
  %m = stablehlo.clamp %b, %h, %i : (tensor<f16>, tensor<2xf16>, tensor<f16>) -> tensor<2xf16>
  %y = stablehlo.convert %m : (tensor<2xf16>) -> {_X}
  return %y : {_X}
}}
"""
_BRAIN_HALF = _HALF.replace("xf16", "xbf16").replace("<f16", "<bf16").replace("0x7C00", "0x7F80")
_WIDE = """func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  %a = arith.constant dense<[0.1, 1.0e300]> : tensor<2xf64>
  return %a : tensor<2xf64>
}
"""


class WideConstantsTest(support.FolderTest):
    def run_host(self, text: str = _CLAMP) -> list[float]:
        (result,) = self.on_host(text, np.array([-1, 1], np.float32))
        return [float(number) for number in result]

    def test_a_clamp_returns_its_limits(self) -> None:
        self.assertEqual(self.run_host(), [float(np.float32(0.1)), float(np.float32(0.3))])

    def test_weights_of_bf16(self) -> None:
        self.assertEqual(self.run_host(_BRAIN), [-3.0, 2.5])
        with mock.patch.object(f64_constants, "apply"):
            call = lambda: self.run_host(_BRAIN)  # noqa: E731
            self.refuses("op-rejected", "'arith.constant'", call=call)

    def test_constants_of_half_floats(self) -> None:
        for text, dtype in ((_HALF, np.float16), (_BRAIN_HALF, ml_dtypes.bfloat16)):
            with self.subTest(dtype):
                self.assertEqual(self.run_host(text), [float(dtype(0.1)), 1.0])
                with mock.patch.object(f64_constants, "apply"):
                    call = lambda text=text: self.run_host(text)  # noqa: E731
                    self.refuses("op-rejected", "'util.initializer'", call=call)

    def test_constants_of_f32_beside_f64(self) -> None:
        text = """func.func @main(%x: tensor<2xf64>) -> (tensor<2xf64>, tensor<1xf32>) {
  %a = arith.constant dense<0.1> : tensor<1xf64>
  %s = stablehlo.convert %a : (tensor<1xf64>) -> tensor<1xf32>
  return %x, %s : tensor<2xf64>, tensor<1xf32>
}"""
        self.assertIn(
            "dense<1.000000e-01> : tensor<1xf32>", support.rewritten(text, f64_constants.apply)
        )

    def test_complex_numbers_stay(self) -> None:
        text = """func.func @main() -> tensor<complex<f32>> {
  %a = stablehlo.constant dense<(0.0, 1.0)> : tensor<complex<f32>>
  return %a : tensor<complex<f32>>
}"""
        self.assertIn("dense<(0.", support.rewritten(text, f64_constants.apply))

    def test_iree_truncates(self) -> None:
        # If this fails, IREE rounds, and the rewrite can go.
        with mock.patch.object(f64_constants, "apply"):
            low, high = self.run_host()
        self.assertEqual((low < np.float32(0.1), high < np.float32(0.3)), (True, True))

    def test_constants(self) -> None:
        text = _WIDE.replace("%x: tensor<2xf64>", "").replace("-> tensor<2xf64>", "")
        text = text.replace("return %a : tensor<2xf64>", "return")
        self.assertIn(
            "[0.10000000149011612, 0x7FF0000000000000]",
            support.rewritten(text, f64_constants.apply),
        )
        resource = text.replace("dense<[0.1, 1.0e300]>", "dense_resource<wide>") + (
            "{-# dialect_resources: {builtin: {wide: "
            '"0x080000009A9999999999B93F9C7500883CE4377E"}} #-}'
        )
        self.assertIn(
            "[0.10000000149011612, 0x7FF0000000000000]",
            support.rewritten(resource, f64_constants.apply),
        )
        # A model in f64 stays as it is.
        self.assertIn(
            "[1.000000e-01, 1.000000e+300]", support.rewritten(_WIDE, f64_constants.apply)
        )


if __name__ == "__main__":
    unittest.main()
