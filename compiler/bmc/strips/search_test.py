"""Tests that cuts need fewer bytes, by the outline's own estimate, and that it is said if there are none."""

from __future__ import annotations

import unittest

from outlines import network

from bmc.strips import search
from bmc.strips.outline import Kind, Op, Outline
from bmc.strips.segment import Window


class SearchTest(unittest.TestCase):
    def test_what_is_stored(self) -> None:
        outline = network(16, 64, 8)
        self.assertEqual(outline.stages, (0, 3, 6, 9))
        self.assertEqual(
            [outline.bytes_alive(n) for n in range(4)], [3072, 19456, 16384 + 65536, 65536 + 8192]
        )

    def test_no_cut_where_all_fits(self) -> None:
        self.assertEqual(search.cuts(network(16, 64, 8), 16384 + 65536), ())

    def test_a_tensor_that_is_too_large_is_never_whole(self) -> None:
        outline = network(16, 64, 8)
        for limit in (60000, 30000, 20000):
            with self.subTest(limit):
                cuts = search.cuts(outline, limit)
                assert cuts is not None
                (cut,) = cuts
                self.assertLessEqual(cut.first, 6)
                self.assertEqual(cut.last, 9)
                size = outline.bytes_in_strips(cut.first, cut.last, cut.rows)
                self.assertLessEqual(size, limit)

    def test_less_memory_takes_more_strips(self) -> None:
        outline = network(16, 64, 8)
        rows = [outline.bytes_in_strips(1, 9, rows) for rows in (1, 2, 4, 8, 16)]
        self.assertEqual(rows, sorted(rows))

    def test_there_is_a_least_number(self) -> None:
        # The result is a whole tensor, whatever happens before it.
        self.assertIsNone(search.cuts(network(16, 64, 8), 8191))

    def test_an_operation_without_rows_is_not_cut(self) -> None:
        outline = network(16, 64, 8)
        ops = list(outline.ops)
        ops[5] = Op(Kind.SUM, 32, 8192, ((3, None), (4, Window())), True, True)
        self.assertIsNone(Outline(ops).stretch(1, 6))
        self.assertIsNotNone(outline.stretch(1, 6))


if __name__ == "__main__":
    unittest.main()
