"""Tests which images become planes, if the layout of one decides about others."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import support

from bmc.ir.contraction import Contraction
from bmc.rewrites.layout import layouts, planar

_PRODUCT = """\
  ^bb0(%a: i8, %b: i8, %old: i32):
    %p = arith.extsi %a : i8 to i32
    %q = arith.extsi %b : i8 to i32
    %product = arith.muli %p, %q : i32
    %r = arith.addi %old, %product : i32
    linalg.yield %r : i32
"""
# Products of 24 and then 58 channels, of bytes.
_NARROW = """
#image = affine_map<(y, x, f, c) -> (y, x, c)>
#weight = affine_map<(y, x, f, c) -> (c, f)>
#result = affine_map<(y, x, f, c) -> (y, x, f)>
#same = affine_map<(y, x, f) -> (y, x, f)>
util.func @main(%argument: tensor<56x56x24xi8>, %w: tensor<24x58xi8>, %v: tensor<58x64xi8>)
    -> tensor<56x56x64xi32> {
  %c0 = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<56x56x58xi32>
  %zero = linalg.fill ins(%c0 : i32) outs(%empty : tensor<56x56x58xi32>) -> tensor<56x56x58xi32>
  %s = linalg.generic {indexing_maps = [#image, #weight, #result],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%argument, %w : tensor<56x56x24xi8>, tensor<24x58xi8>) outs(%zero : tensor<56x56x58xi32>) {
PRODUCT  } -> tensor<56x56x58xi32>
  %bytes = tensor.empty() : tensor<56x56x58xi8>
  %n = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<56x56x58xi32>) outs(%bytes : tensor<56x56x58xi8>) {
  ^bb0(%a: i32, %old: i8):
    %r = arith.trunci %a : i32 to i8
    linalg.yield %r : i8
  } -> tensor<56x56x58xi8>
  %large = tensor.empty() : tensor<56x56x64xi32>
  %wide = linalg.fill ins(%c0 : i32) outs(%large : tensor<56x56x64xi32>) -> tensor<56x56x64xi32>
  %y = linalg.generic {indexing_maps = [#image, #weight, #result],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%n, %v : tensor<56x56x58xi8>, tensor<58x64xi8>) outs(%wide : tensor<56x56x64xi32>) {
PRODUCT  } -> tensor<56x56x64xi32>
  util.return %y : tensor<56x56x64xi32>
}
""".replace("PRODUCT", _PRODUCT)

_COST = layouts.cost


def _from_planes(
    found: Contraction, types: Any, orders: Any, *others: Any, dot_channels: int
) -> float:
    """The cost if the image had the layout of the result."""
    return _COST(found, types, (orders[1], orders[1]), *others, dot_channels=dot_channels)


def _after(text: str) -> str:
    return support.rewritten(text, planar.apply)


class NeighborsTest(unittest.TestCase):
    def test_an_image_that_stays_makes_planes_of_it_expensive(self) -> None:
        """Planes would be cheaper than pixels if they were computed from planes."""
        self.assertEqual(_after(_NARROW), support.rewritten(_NARROW))
        with mock.patch.object(layouts, "cost", side_effect=_from_planes):
            self.assertIn("tensor<58x56x56xi8>", _after(_NARROW))

    def test_planes_that_cost_less_than_their_readers_gain(self) -> None:
        bytes_of_result = 56 * 56 * 64 * 4
        for gain, are_planes in ((11, True), (9, False)):

            def cost(
                _: Contraction, types: Any, orders: Any, *others: Any, gain: int = gain, **more: Any
            ) -> float:
                """Planes of the first product cost 10 more than pixels; planes of the second one save more."""
                if orders[1][0] == 0:
                    return bytes_of_result + gain
                return bytes_of_result + gain + 10 if types[2].shape[-1] == 58 else 0

            with self.subTest(gain), mock.patch.object(layouts, "cost", side_effect=cost):
                self.assertEqual("tensor<58x56x56xi8>" in _after(_NARROW), are_planes)


if __name__ == "__main__":
    unittest.main()
