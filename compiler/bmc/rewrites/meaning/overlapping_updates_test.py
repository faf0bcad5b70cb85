"""Tests that a part of a tensor may be written over itself, by what IREE computes."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.meaning import overlapping_updates

_X = "tensor<4x5xf32>"
_OVER_ITSELF = f"""func.func @main(%x: {_X}, %i: tensor<i32>, %j: tensor<i32>) -> {_X} {{
  %a = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 3]
      : ({_X}, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  %y = stablehlo.dynamic_update_slice %x, %a, %j, %i
      : ({_X}, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> {_X}
  return %y : {_X}
}}
"""

_ROWS = f"""func.func @main(%x: {_X}, %i: tensor<i32>) -> {_X} {{
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.slice %x [1:3, 0:5] : ({_X}) -> tensor<2x5xf32>
  %y = stablehlo.dynamic_update_slice %x, %a, START, %zero
      : ({_X}, tensor<2x5xf32>, tensor<i32>, tensor<i32>) -> {_X}
  return %y : {_X}
}}
"""


class UpdatesTest(support.FolderTest):
    def computed(self, row: int, column: int) -> Array:
        place = np.array(row, np.int32), np.array(column, np.int32)
        (result,) = self.on_host(_OVER_ITSELF, _numbers(), *place)
        return result

    def test_parts_that_overlap(self) -> None:
        for row, column in ((0, 2), (1, 2), (1, 1), (2, 1)):
            wanted = _numbers()
            wanted[column : column + 2, row : row + 3] = _numbers()[
                row : row + 2, column : column + 3
            ]
            np.testing.assert_array_equal(self.computed(row, column), wanted)

    def test_iree_overwrites_what_it_reads(self) -> None:
        # If this fails, IREE makes the copy itself, and the rewrite can go.
        wanted = _numbers()
        wanted[2:4, 1:4] = _numbers()[1:3, 2:5]
        with mock.patch.object(overlapping_updates, "apply_on_host"):
            self.assertFalse(np.array_equal(self.computed(1, 2), wanted))

    def test_other_updates_stay(self) -> None:
        text = _OVER_ITSELF.replace("dynamic_update_slice %x,", "dynamic_update_slice %z,").replace(
            "  %a =", f"  %z = stablehlo.negate %x : {_X}\n  %a ="
        )
        self.assertNotIn("stablehlo.select", support.rewritten(text, overlapping_updates.apply))

    def test_the_target_moves_known_rows_itself(self) -> None:
        known = _ROWS.replace("START", "%one")
        self.assertNotIn("stablehlo.select", support.rewritten(known, overlapping_updates.apply))
        copied = lambda module, _=None: overlapping_updates.apply_on_host(module)  # noqa: E731
        self.assertIn("stablehlo.select", support.rewritten(known, copied))
        for other in (
            _ROWS.replace("START", "%i"),
            known.replace("3, 0:5]", "3, 0:4]").replace("2x5", "2x4"),
        ):
            self.assertIn("stablehlo.select", support.rewritten(other, overlapping_updates.apply))


def _numbers() -> Array:
    return np.arange(20, dtype=np.float32).reshape(4, 5)


if __name__ == "__main__":
    unittest.main()
