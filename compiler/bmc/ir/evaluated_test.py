"""Tests that constant expressions have the values that StableHLO gives them."""

from __future__ import annotations

import unittest

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import ir_util
from bmc.ir.evaluated import Evaluator

_CODES = np.arange(-6, 6, dtype=np.int8).reshape(2, 6)
_TEXT = f"""func.func @main(%x: tensor<2x6xi32>) -> RESULT {{
  %c = stablehlo.constant dense<{_CODES.tolist()}> : tensor<2x6xi8>
  %u = stablehlo.constant dense<[200, 7]> : tensor<2xui8>
  %h = stablehlo.constant dense<[0.5, -2.0]> : tensor<2xf16>
  %w = stablehlo.convert %c : (tensor<2x6xi8>) -> tensor<2x6xi32>
  %v = stablehlo.convert %u : (tensor<2xui8>) -> tensor<2xi32>
  %b = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<2xi32>) -> tensor<2x6xi32>
  %two = stablehlo.constant dense<2> : tensor<2x6xi32>
  BODY
  return %r : RESULT
}}
"""
_WIDE = _CODES.astype(np.int32)
_REPEATED = np.broadcast_to(np.array([[200], [7]], np.int32), (2, 6))
_KIND = "tensor<2x6xi32>"


def _value(body: str, kind: str = _KIND) -> Array | None:
    text = _TEXT.replace("BODY", body).replace("RESULT", kind)
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(text)
        (end,) = ir_util.all_of(module, "func.return")
        return Evaluator(module)(end.operands[0])


class EvaluatorTest(unittest.TestCase):
    def equals(self, body: str, expected: Array, kind: str = _KIND) -> None:
        found = _value(body, kind)
        assert found is not None
        self.assertEqual(found.dtype, expected.dtype)
        np.testing.assert_array_equal(found, expected)

    def test_arithmetic(self) -> None:
        for name, expected in (
            ("add", _WIDE + _REPEATED),
            ("subtract", _WIDE - _REPEATED),
            ("multiply", _WIDE * _REPEATED),
            ("and", _WIDE & _REPEATED),
            ("or", _WIDE | _REPEATED),
        ):
            with self.subTest(name):
                self.equals(f"%r = stablehlo.{name} %w, %b : {_KIND}", expected)
        self.equals(f"%r = stablehlo.shift_left %w, %two : {_KIND}", _WIDE << 2)
        self.equals(f"%r = stablehlo.shift_right_arithmetic %w, %two : {_KIND}", _WIDE >> 2)

    def test_moves(self) -> None:
        joined = f"""%t = stablehlo.transpose %w, dims = [1, 0] : ({_KIND}) -> tensor<6x2xi32>
  %f = stablehlo.reshape %t : (tensor<6x2xi32>) -> {_KIND}
  %r = stablehlo.concatenate %f, %b, dim = 1 : ({_KIND}, {_KIND}) -> tensor<2x12xi32>"""
        turned = _WIDE.T.reshape(2, 6)
        self.equals(joined, np.concatenate([turned, _REPEATED], 1), "tensor<2x12xi32>")

    def test_choices_and_counts(self) -> None:
        chosen = f"""%i = stablehlo.iota dim = 1 : {_KIND}
  %p = stablehlo.compare LT, %w, %i, SIGNED : ({_KIND}, {_KIND}) -> tensor<2x6xi1>
  %r = stablehlo.select %p, %i, %w : tensor<2x6xi1>, {_KIND}"""
        self.equals(chosen, np.maximum(_WIDE, np.arange(6, dtype=np.int32)))

    def test_halves(self) -> None:
        converted = "%r = stablehlo.convert %h : (tensor<2xf16>) -> tensor<2xf32>"
        self.equals(converted, np.array([0.5, -2], np.float32), "tensor<2xf32>")

    def test_what_is_no_constant_has_no_value(self) -> None:
        for body in (
            f"%r = stablehlo.add %w, %x : {_KIND}",
            f"%r = stablehlo.remainder %w, %b : {_KIND}",  # an operation that it does not know
        ):
            self.assertIsNone(_value(body))


if __name__ == "__main__":
    unittest.main()
