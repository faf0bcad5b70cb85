"""Tests that a factor and an offset give what scales, bias and the division of a quantization give."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import support
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import ir_util
from bmc.rewrites.quantization import channel_scales

_ROWS, _SUMS, _COLUMNS = 32, 24, 16
_RNG = np.random.default_rng(0)
_X = _RNG.integers(-128, 128, (_ROWS, _SUMS), np.int8)
_W = _RNG.integers(-127, 128, (_SUMS, _COLUMNS), np.int8)
_SCALES = _RNG.uniform(0.001, 0.01, _COLUMNS).astype(np.float32)
_BIAS = _RNG.normal(0, 1, _COLUMNS).astype(np.float32)
_IMAGE_SCALE, _RESULT_SCALE, _IMAGE_POINT, _RESULT_POINT = 0.02, 0.05, -77, -13

_MODEL = """
#m = affine_map<(d0, d1) -> (d0, d1)>
#c = affine_map<(d0, d1) -> (d1)>
#n = affine_map<(d0, d1) -> ()>
func.func @main(%x: tensor<{ROWS}x{SUMS}xi8>) -> tensor<{ROWS}x{COLUMNS}x{RESULT}> {
  %w = arith.constant dense<"0x{W}"> : tensor<{SUMS}x{COLUMNS}xi8>
  %scales = arith.constant dense<"0x{S}"> : tensor<{COLUMNS}xf32>
  %bias = arith.constant dense<"0x{B}"> : tensor<{COLUMNS}xf32>
  %scale = arith.constant 0.02 : f32
  %point = arith.constant -77 : i64
  %step = arith.constant 0.05 : f32
  %origin = arith.constant -13 : i64
  %zero = arith.constant 0.0 : f32
  %xs = tensor.empty() : tensor<{ROWS}x{SUMS}xf32>
  %ws = tensor.empty() : tensor<{SUMS}x{COLUMNS}xf32>
  %ys = tensor.empty() : tensor<{ROWS}x{COLUMNS}xf32>
  %bytes = tensor.empty() : tensor<{ROWS}x{COLUMNS}xi8>
  %xf = iree_linalg_ext.dequantize_affine <indexing_maps = [#m, #n, #n, #m], quant_min = -128, quant_max = 127>
      ins(%x, %scale, %point : tensor<{ROWS}x{SUMS}xi8>, f32, i64) outs(%xs : tensor<{ROWS}x{SUMS}xf32>)
      -> tensor<{ROWS}x{SUMS}xf32>
  %wf = iree_linalg_ext.dequantize_affine <indexing_maps = [#m, #c, #m], quant_min = -127, quant_max = 127>
      ins(%w, %scales : tensor<{SUMS}x{COLUMNS}xi8>, tensor<{COLUMNS}xf32>) outs(%ws : tensor<{SUMS}x{COLUMNS}xf32>)
      -> tensor<{SUMS}x{COLUMNS}xf32>
  %start = linalg.fill ins(%zero : f32) outs(%ys : tensor<{ROWS}x{COLUMNS}xf32>) -> tensor<{ROWS}x{COLUMNS}xf32>
  %sums = linalg.matmul ins(%xf, %wf : tensor<{ROWS}x{SUMS}xf32>, tensor<{SUMS}x{COLUMNS}xf32>)
      outs(%start : tensor<{ROWS}x{COLUMNS}xf32>) -> tensor<{ROWS}x{COLUMNS}xf32>
  %biased = linalg.generic {indexing_maps = [#m, #c, #m], iterator_types = ["parallel", "parallel"]}
      ins(%sums, %bias : tensor<{ROWS}x{COLUMNS}xf32>, tensor<{COLUMNS}xf32>)
      outs(%ys : tensor<{ROWS}x{COLUMNS}xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<{ROWS}x{COLUMNS}xf32>
  {MORE}
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#m, #n, #n, #m], quant_min = -128, quant_max = 127>
      ins(%{LAST}, %step, %origin : tensor<{ROWS}x{COLUMNS}xf32>, f32, i64) outs(%bytes : tensor<{ROWS}x{COLUMNS}xi8>)
      -> tensor<{ROWS}x{COLUMNS}xi8>
  return %{RETURNED} : tensor<{ROWS}x{COLUMNS}x{RESULT}>
}
"""
_ACTIVE = """%active = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]}
      ins(%biased : tensor<{ROWS}x{COLUMNS}xf32>) outs(%ys : tensor<{ROWS}x{COLUMNS}xf32>) {
  ^bb0(%a: f32, %old: f32):
    {BODY}
    linalg.yield %r : f32
  } -> tensor<{ROWS}x{COLUMNS}xf32>"""
_RELU = "%is = arith.cmpf ugt, %a, %zero : f32\n %r = arith.select %is, %a, %zero : f32"

_MOST = """
    %three = arith.constant 3.0 : f32
    %less = arith.cmpf olt, %three, %p : f32
    %r = arith.select %less, %three, %p : f32"""
_LEAST = """
    %three = arith.constant 3.0 : f32
    %r = arith.minnumf %p, %three : f32"""


def _text(body: str = "", result: str = "i8") -> str:
    text = _MODEL.replace("{MORE}", _ACTIVE.replace("{BODY}", body) if body else "")
    last = "active" if body else "biased"
    for name, value in {
        "ROWS": _ROWS,
        "SUMS": _SUMS,
        "COLUMNS": _COLUMNS,
        "W": _W.tobytes().hex().upper(),
        "S": _SCALES.tobytes().hex().upper(),
        "B": _BIAS.tobytes().hex().upper(),
        "LAST": last,
        "RESULT": result,
        "RETURNED": "q" if result == "i8" else last,
    }.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def _floats() -> Array:
    """The products with their bias, in f64."""
    sums = (_X.astype(np.int64) - _IMAGE_POINT) @ _W.astype(np.int64)
    scale = np.float64(np.float32(_IMAGE_SCALE)) * _SCALES
    result: Array = sums * scale + _BIAS
    return result


class ScalesTest(support.OptimizedTest):
    def quantizes(self, body: str, floats: Array, multiplications: int) -> str:
        """Checks the rewritten model; returns its text."""
        text = self.rewritten(_text(body), channel_scales.apply)
        self.assertEqual(text.count("arith.mulf"), multiplications)
        steps = floats / np.float32(_RESULT_SCALE)
        want = np.clip(np.rint(steps) + _RESULT_POINT, -128, 127)
        self.assertGreater(len(set(want.flat)), 40)
        is_clear = np.abs(steps - np.floor(steps) - 0.5) > 1e-4
        self.assertGreater(is_clear.mean(), 0.99)
        got = self.run_rewritten(_X)
        np.testing.assert_array_equal(got[is_clear], want[is_clear])
        return text

    def test_a_factor_and_an_offset(self) -> None:
        text = self.quantizes("", _floats(), 1)
        self.assertIn("arith.constant 1.000000e+00 : f32", text)
        # Sums start from the zero point times the weights.
        self.assertIn("linalg.broadcast", text)
        self.assertNotIn("arith.subi", text)

    def test_behind_limits(self) -> None:
        for body, most in (
            (_RELU, np.inf),
            ("%r = arith.maximumf %a, %zero : f32", np.inf),
            ("%p = arith.maxnumf %a, %zero : f32\n" + _LEAST, 3),
            (_RELU.replace("%r =", "%p =") + _MOST, 3),
        ):
            text = self.quantizes(body, np.clip(_floats(), 0, most), 1)
            self.assertIn("arith.constant 1.000000e+00 : f32", text)

    def test_another_function_sees_what_it_saw(self) -> None:
        for body, function in (
            ("%r = math.tanh %a : f32", np.tanh),
            ("%r = arith.subf %zero, %a : f32", np.negative),
        ):
            text = self.rewritten(_text(body, "f32"), channel_scales.apply)
            self.assertEqual(text.count("arith.mulf"), 1)
            np.testing.assert_allclose(
                self.run_rewritten(_X), function(_floats()), rtol=1e-5, atol=1e-5
            )

    def test_two_readers_keep_the_scale(self) -> None:
        text = (
            _text()
            .replace("return %q", "return %biased, %q")
            .replace(
                f"-> tensor<{_ROWS}x{_COLUMNS}xi8> {{",
                f"-> (tensor<{_ROWS}x{_COLUMNS}xf32>, tensor<{_ROWS}x{_COLUMNS}xi8>) {{",
            )
            .replace(
                f"%q : tensor<{_ROWS}x{_COLUMNS}xi8>",
                f"%q : tensor<{_ROWS}x{_COLUMNS}xf32>, tensor<{_ROWS}x{_COLUMNS}xi8>",
            )
        )
        self.assertNotIn("1.000000e+00 : f32", self.rewritten(text, channel_scales.apply))

    def test_computed_numbers_are_no_constants(self) -> None:
        text = _text().replace("i8>) ->", f"i8>, %factors: tensor<{_COLUMNS}xf32>) ->")
        text = text.replace("outs(%ws", "outs(%ws", 1).replace("%w, %scales :", "%w, %factors :")
        before = self.rewritten(text, lambda *_: None)
        self.assertEqual(self.rewritten(text, channel_scales.apply), before)

    def test_what_is_erased_is_not_looked_at(self) -> None:
        """Its memory may be another's by then, and looking at it crashes."""
        walk = ir_util.walk

        def rewrite(module: Any, context: Any) -> None:
            root = module.operation

            def checked(op: ir_util.Op) -> Iterator[ir_util.Op]:
                alive: list[ir_util.Op] = []

                def keep(each: ir_util.Op) -> ir.WalkResult:
                    alive.append(each)
                    return ir.WalkResult.ADVANCE

                root.walk(keep)
                self.assertTrue(any(op == each for each in alive))
                return walk(op)

            with mock.patch.object(ir_util, "walk", checked):
                channel_scales.apply(module, context)

        text = _text("%r = arith.subf %zero, %a : f32", "f32")
        self.assertEqual(self.rewritten(text, rewrite).count("arith.mulf"), 1)


if __name__ == "__main__":
    unittest.main()
