"""Tests sines, cosines and tangents of all kinds of numbers, by what IREE computes."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.meaning import trigonometry

_EDGES = (
    0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    2**-9,
    -(2**-9),
    1e-30,
    -1e-5,
    3.4e38,
    -(2.0**24),
    1e-42,
)
_STABLEHLO = """func.func @main(%x: T) -> (T, T, T) {
  %0 = stablehlo.sine %x : T
  %1 = stablehlo.cosine %x : T
  %2 = stablehlo.tan %x : T
  return %0, %1, %2 : T, T, T
}
"""
_BODY = """#id = affine_map<(d0) -> (d0)>
func.func @main(%x: T) -> (T, T, T) {
  %e = tensor.empty() : T
  %z:3 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%x : T) outs(%e, %e, %e : T, T, T) {
    ^bb0(%a: f32, %o: f32, %p: f32, %q: f32):
      %s = math.sin %a : f32
      %c = math.cos %a : f32
      %t = math.tan %a : f32
      linalg.yield %s, %c, %t : f32, f32, f32
  } -> (T, T, T)
  return %z#0, %z#1, %z#2 : T, T, T
}
"""
_TOSA = """func.func @main(%x: T) -> (T, T) {
  %0 = tosa.sin %x : (T) -> T
  %1 = tosa.cos %x : (T) -> T
  return %0, %1 : T, T
}
"""


def _numbers() -> Array:
    """Returns numbers of every exponent, those nearest to quarters of turns, and edges."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 3000, np.uint32).view(np.float32)
    quarters = np.concatenate([np.arange(1, 500), rng.integers(500, 2**52, 500)]) * (np.pi / 2)
    found = np.concatenate([bits, quarters.astype(np.float32), np.array(_EDGES, np.float32)])
    # IREE's host takes numbers below 2 ** -126 for 0.
    return np.where(np.abs(found) < 2.0**-126, np.copysign(np.float32(0), found), found)


class CirclesTest(support.FolderTest):
    def computed(self, text: str, x: Array) -> tuple[Array, ...]:
        return self.on_host(text.replace("T", f"tensor<{x.size}xf32>"), x)

    def test_all_kinds_of_numbers(self) -> None:
        x = _numbers()
        with np.errstate(all="ignore"):
            wanted = [function(x.astype(np.float64)) for function in (np.sin, np.cos, np.tan)]
        for text, outputs in ((_STABLEHLO, 3), (_BODY, 3), (_TOSA, 2)):
            for got, expected in zip(self.computed(text, x), wanted[:outputs], strict=True):
                np.testing.assert_allclose(got, expected, 6e-7)
                known = ~np.isnan(expected)
                np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(expected[known]))

    def test_half_floats(self) -> None:
        text = """func.func @main(%x: T) -> T {
  %a = stablehlo.convert %x : (T) -> tensor<4xbf16>
  %z = stablehlo.sine %a : tensor<4xbf16>
  %r = stablehlo.convert %z : (tensor<4xbf16>) -> T
  return %r : T
}
"""
        x = np.array([2.0, 505856, 2.0**30, -(2.0**80)], np.float32)
        (got,) = self.computed(text, x)
        np.testing.assert_allclose(got, np.sin(x.astype(np.float64)), 2**-8)
        with mock.patch.object(trigonometry, "apply"):
            (got,) = self.computed(text, x)
            self.assertGreater(np.abs(got - np.sin(x.astype(np.float64))).max(), 0.02)

    def test_large_numbers_are_wrong_in_iree(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        x = np.array([1e4, 1e10], np.float32)
        with mock.patch.object(trigonometry, "apply"):
            results = self.computed(_BODY, x)
            for got, function in zip(results, (np.sin, np.cos, np.tan), strict=True):
                self.assertGreater(np.abs(got - function(x.astype(np.float64))).max(), 1e-3)

    def test_other_numbers_stay(self) -> None:
        text = _BODY.replace("T", "tensor<4xf64>").replace("f32", "f64")
        self.assertEqual(support.rewritten(text, trigonometry.apply), support.rewritten(text))


if __name__ == "__main__":
    unittest.main()
