"""Tests the tile sizes of matrix products."""

from __future__ import annotations

import unittest

from bmc.rewrites.iree.tiles import matmul
from bmc.rewrites.iree.tiles.root import Levels, Root

_BY_ROWS, _BY_COLUMNS = (
    "affine_map<(d0, d1, d2) -> (d2, d1)>",
    "affine_map<(d0, d1, d2) -> (d1, d2)>",
)


def choose(*result: int, b: str = _BY_ROWS) -> Levels:
    """Chooses with 3 rows and 64 columns, as at VLEN 256."""
    root = Root("linalg.matmul", (), result, ("", b, ""), (), {}, (), None, ())
    return matmul.choose(root, 3, 64)


class MatmulTest(unittest.TestCase):
    def test_b_is_read_in_panels_of_one_register_group(self) -> None:
        self.assertEqual(
            choose(128, 512),
            {
                "distribution": (128, 512, 0),
                "cache_parallel": (128, 64, 0),
                "vector_common_parallel": (3, 64, 0),
            },
        )

    def test_few_rows(self) -> None:
        self.assertEqual(choose(2, 512)["vector_common_parallel"], (2, 64, 0))

    def test_leftover_columns_are_one_shorter_group_unless_they_are_few_among_many(self) -> None:
        self.assertEqual(choose(8, 100)["cache_parallel"], (8, 100, 0))
        self.assertEqual(choose(8, 100 * 64 + 1)["cache_parallel"], (8, 64, 0))

    def test_a_batch_is_tiled_one_by_one(self) -> None:
        levels = choose(5, 8, 64, b="affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>")
        self.assertEqual(levels["distribution"], (5, 8, 64, 0))
        self.assertEqual(levels["vector_common_parallel"], (1, 3, 64, 0))

    def test_iree_keeps_its_choice(self) -> None:
        # There are fewer columns than a register group has, or B is not stored by rows.
        self.assertEqual(choose(128, 63), {})
        self.assertEqual(choose(128, 512, b=_BY_COLUMNS), {})


if __name__ == "__main__":
    unittest.main()
