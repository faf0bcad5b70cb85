"""Tests that quotients of the least integer by -1 wrap, by what IREE computes. NumPy's do."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.meaning import overflowing_quotients

_MODEL = """#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (0, j)>
func.func @main(%x: RESULT, %y: tensor<1x9xTYPE>) -> (ALL) {
  %e = tensor.empty() : RESULT
  %r:4 = linalg.generic {indexing_maps = [#id, #row, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : RESULT, tensor<1x9xTYPE>)
      outs(%e, %e, %e, %e : ALL) {
    ^bb0(%a: TYPE, %b: TYPE, %o: TYPE, %p: TYPE, %q: TYPE, %s: TYPE):
      %0 = arith.divsi %a, %b : TYPE
      %1 = arith.remsi %a, %b : TYPE
      %2 = arith.floordivsi %a, %b : TYPE
      %3 = arith.ceildivsi %a, %b : TYPE
      linalg.yield %0, %1, %2, %3 : TYPE, TYPE, TYPE, TYPE
  } -> (ALL)
  return %r#0, %r#1, %r#2, %r#3 : ALL
}
"""
_TOSA = """func.func @main(%x: tensor<5x9xi32>, %y: tensor<1x9xi32>) -> tensor<5x9xi32> {
  %r = tosa.intdiv %x, %y : (tensor<5x9xi32>, tensor<1x9xi32>) -> tensor<5x9xi32>
  return %r : tensor<5x9xi32>
}
"""
_KNOWN = """func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
  %y = arith.constant dense<[1, 2, 3, -2]> : tensor<4xi32>
  %r = arith.divsi %x, %y : tensor<4xi32>
  return %r : tensor<4xi32>
}
"""


class QuotientsTest(support.FolderTest):
    def all_kinds(self, kind: type) -> tuple[Array, ...]:
        text = _MODEL.replace("ALL", ", ".join(["RESULT"] * 4)).replace(
            "RESULT", "tensor<5x9xTYPE>"
        )
        text = text.replace("TYPE", f"i{8 * np.dtype(kind).itemsize}")
        return self.on_host(text, *_numbers(kind))

    def test_narrow_and_wide_integers(self) -> None:
        for kind in (np.int8, np.int64):
            for number, (got, wanted) in enumerate(
                zip(self.all_kinds(kind), _wanted(kind), strict=True)
            ):
                np.testing.assert_array_equal(got, wanted, f"result {number} of {kind}")

    def test_tosa(self) -> None:
        (got,) = self.on_host(_TOSA, *_numbers(np.int32))
        np.testing.assert_array_equal(got, _wanted(np.int32)[0])

    def test_it_is_needed(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        with mock.patch.object(overflowing_quotients, "apply"):
            got = self.all_kinds(np.int8)
        self.assertFalse(np.array_equal(got, _wanted(np.int8)))

    def test_known_divisors_stay(self) -> None:
        self.assertEqual(
            support.rewritten(_KNOWN, overflowing_quotients.apply), support.rewritten(_KNOWN)
        )


def _numbers(kind: type) -> tuple[Array, Array]:
    limits = np.iinfo(kind)
    x: Array = np.array([limits.min, limits.max, -1, 7, limits.min + 1], kind)[:, None]
    y: Array = np.array([[-1, 1, 2, -2, limits.min, limits.max, 7, -7, 3]], kind)
    return np.broadcast_to(x, (5, 9)).copy(), y


def _wanted(kind: type) -> tuple[Array, ...]:
    """Returns quotients that are rounded towards zero, remainders, and quotients that are rounded down and up."""
    x, y = _numbers(kind)
    with np.errstate(over="ignore"):
        down, rest = x // y, np.fmod(x, y)
    up = (down + (rest != 0)).astype(kind)
    return np.where((x < 0) != (y < 0), up, down), rest, down, up


if __name__ == "__main__":
    unittest.main()
