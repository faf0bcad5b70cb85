"""Tests the tile sizes of work on rows."""

from __future__ import annotations

import unittest

from bmc.rewrites.iree.tiles import rows
from bmc.rewrites.iree.tiles.root import Levels, Root

_LANES = 64
_ROWS = "affine_map<(d0, d1) -> (d0, d1)>"
_BY_COLUMNS = "affine_map<(d0, d1) -> (d1, d0)>"


def reduction(length: int, parallel: tuple[int, ...] = (8, 0), indexing_map: str = _ROWS) -> Levels:
    """A reduction of 12 rows of this length, as in a softmax."""
    operands = (((12, length), "f32"), ((12,), "f32"))
    levels = {"vector_common_parallel": parallel, "vector_reduction": (0, 16)}
    maps = (indexing_map, "affine_map<(d0, d1) -> (d0)>")
    root = Root("linalg.generic", operands, (12,), maps, (12, length), levels, (), None, (12,))
    return rows.reduction(root, _LANES)


def elementwise(
    *extents: int, body: tuple[str, ...] = ("arith.addf",), indexing_map: str = _ROWS
) -> Levels:
    """An operation on each element of a tensor with these extents."""
    maps = (indexing_map, _ROWS)
    root = Root("linalg.generic", (), extents, maps, extents, {}, body, None, extents)
    return rows.elementwise(root, _LANES)


class ReductionTest(unittest.TestCase):
    def test_one_row_at_a_time_in_full_register_groups(self) -> None:
        self.assertEqual(
            reduction(1000),
            {
                "vector_common_parallel": (1, 0),
                "vector_reduction": (0, 64),
                "vector_inner_parallel": (0, 64),
            },
        )

    def test_a_short_row_is_one_step_if_its_length_is_a_power_of_two(self) -> None:
        self.assertEqual(reduction(32)["vector_reduction"], (0, 32))
        self.assertEqual(reduction(8)["vector_reduction"], (0, 8))
        # 24 is none, and a step of 4 elements would fill half a register.
        self.assertEqual(reduction(24), {})
        self.assertEqual(reduction(4), {})

    def test_other_reductions_are_left_to_iree(self) -> None:
        self.assertEqual(reduction(1000, parallel=(8, 4)), {})
        self.assertEqual(reduction(1000, indexing_map=_BY_COLUMNS), {})


class ElementwiseTest(unittest.TestCase):
    def test_rows_in_full_register_groups(self) -> None:
        self.assertEqual(elementwise(12, 1000), {"vector_common_parallel": (1, 64)})
        self.assertEqual(elementwise(12, 16), {"vector_common_parallel": (1, 16)})
        self.assertEqual(elementwise(12, 24), {})

    def test_a_copy_takes_four_rows_at_once(self) -> None:
        self.assertEqual(elementwise(12, 64, body=()), {"vector_common_parallel": (4, 64)})
        self.assertEqual(elementwise(11, 64, body=()), {})

    def test_polynomials_would_spill(self) -> None:
        self.assertEqual(elementwise(12, 64, body=("math.exp",)), {})
        self.assertEqual(elementwise(12, 64, body=("arith.addf",) * 9), {})
        self.assertTrue(elementwise(12, 64, body=("arith.addf",) * 8))

    def test_columns_are_not_rows(self) -> None:
        self.assertEqual(elementwise(12, 64, indexing_map=_BY_COLUMNS), {})
        # One number for each row is read for all of the row.
        self.assertTrue(elementwise(12, 64, indexing_map="affine_map<(d0, d1) -> (d0)>"))


if __name__ == "__main__":
    unittest.main()
