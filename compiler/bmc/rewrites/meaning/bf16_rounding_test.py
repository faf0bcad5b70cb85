"""Tests that bf16 is rounded where a rounding shows, by what IREE computes. NumPy's with ml_dtypes is."""

from __future__ import annotations

import unittest
from unittest import mock

import ml_dtypes
import numpy as np
import support

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.rewrites.meaning import bf16_rounding

_MODEL = """func.func @main(%x: tensor<41xf32>) -> tensor<41x{type}> {{
  %c = stablehlo.constant dense<1.203125> : tensor<41xbf16>
  %b = stablehlo.convert %x : (tensor<41xf32>) -> tensor<41xbf16>
  %y = stablehlo.multiply %b, %c : tensor<41xbf16>
{end}
  return %r : tensor<41x{type}>
}}
"""
_FLOATS = "  %r = stablehlo.convert %y : (tensor<41xbf16>) -> tensor<41xf32>"
_INTEGERS = "  %r = stablehlo.convert %y : (tensor<41xbf16>) -> tensor<41xi32>"
_FLOORS = """  %s = stablehlo.floor %y : tensor<41xbf16>
  %r = stablehlo.convert %s : (tensor<41xbf16>) -> tensor<41xf32>"""
_COMPARISONS = """  %l = stablehlo.constant dense<180.0> : tensor<41xbf16>
  %r = stablehlo.compare GT, %y, %l : (tensor<41xbf16>, tensor<41xbf16>) -> tensor<41xi1>"""
_AT_ONCE = """func.func @main(%x: tensor<6xi32>) -> tensor<6xbf16> {
  %y = stablehlo.convert %x : (tensor<6xi32>) -> tensor<6xbf16>
  return %y : tensor<6xbf16>
}
"""
_BY_F32 = """func.func @main(%x: tensor<6xi32>) -> tensor<6xbf16> {
  %f = stablehlo.convert %x : (tensor<6xi32>) -> tensor<6xf32>
  %y = stablehlo.convert %f : (tensor<6xf32>) -> tensor<6xbf16>
  return %y : tensor<6xbf16>
}
"""
_X = np.linspace(-200, 200, 41, dtype=np.float32)


class BrainFloatsTest(support.FolderTest):
    def computed(self, end: str) -> tuple[Array, Array]:
        """Returns what IREE computes, and what it must be: of 180.47 and 228.6, bf16 has 180 and 229."""
        y = (_X.astype(ml_dtypes.bfloat16) * ml_dtypes.bfloat16(1.203125)).astype(np.float32)
        wanted, name = {
            _FLOATS: (y, "f32"),
            _INTEGERS: (y.astype(np.int32), "i32"),
            _FLOORS: (np.floor(y), "f32"),
            _COMPARISONS: (y > 180, "i1"),
        }[end]
        return self.on_host(_MODEL.format(type=name, end=end), _X)[0], wanted

    def test_they_are_rounded(self) -> None:
        for end in (_FLOATS, _INTEGERS, _FLOORS, _COMPARISONS):
            np.testing.assert_array_equal(*self.computed(end))

    def test_without_it_they_are_not(self) -> None:
        # If one of these is right, IREE rounds.
        with mock.patch.object(bf16_rounding, "apply"):
            for end in (_FLOATS, _INTEGERS, _FLOORS, _COMPARISONS):
                got, wanted = self.computed(end)
                self.assertFalse(np.array_equal(got, wanted), end)

    def test_what_was_read_stays(self) -> None:
        text = """func.func @main(%x: tensor<3x2xbf16>) -> tensor<2x3xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x2xbf16>) -> tensor<2x3xbf16>
  %r = stablehlo.convert %t : (tensor<2x3xbf16>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}"""
        self.assertNotIn("reduce_precision", support.rewritten(text, bf16_rounding.apply))

    def test_sorts(self) -> None:
        """A sort compares what was stored, and IREE cannot compile roundings in it."""
        text = """func.func @main(%x: tensor<41xbf16>) -> tensor<41xbf16> {
          %y = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
          ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
            %r = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
            stablehlo.return %r : tensor<i1>
          }) : (tensor<41xbf16>) -> tensor<41xbf16>
          return %y : tensor<41xbf16>
        }"""
        x = _X[::-1].astype(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(self.on_host(text, x)[0], np.sort(x))

    def test_constant_integers(self) -> None:
        text = """func.func @main(%x: tensor<41xf32>) -> tensor<41xf32> {
  %a = arith.constant dense<0> : tensor<1xi64>
  %s = stablehlo.convert %a : (tensor<1xi64>) -> tensor<1xbf16>
  %low = stablehlo.reshape %s : (tensor<1xbf16>) -> tensor<bf16>
  %high = stablehlo.constant dense<0x7F80> : tensor<bf16>
  %b = stablehlo.convert %x : (tensor<41xf32>) -> tensor<41xbf16>
  %y = stablehlo.clamp %low, %b, %high : (tensor<bf16>, tensor<41xbf16>, tensor<bf16>) -> tensor<41xbf16>
  %r = stablehlo.convert %y : (tensor<41xbf16>) -> tensor<41xf32>
  return %r : tensor<41xf32>
}"""
        np.testing.assert_array_equal(self.on_host(text, _X)[0], np.maximum(_X, 0))

    def test_integers(self) -> None:
        x = np.array([3, -200, 257, 2**24 + 1, 70000, -5], np.int32)
        wanted = x.astype(np.float32).astype(ml_dtypes.bfloat16)
        for text in (_AT_ONCE, _BY_F32):
            np.testing.assert_array_equal(self.on_host(text, x)[0], wanted)
            # If this fails, IREE needs no function for it any more.
            with mock.patch.object(bf16_rounding, "apply"), self.assertRaises(BmcError) as caught:
                self.on_host(text, x)
            self.assertEqual(caught.exception.kind, "missing-function")


if __name__ == "__main__":
    unittest.main()
