"""Tests which loop runs over adjacent elements."""

from __future__ import annotations

import unittest

from bmc.rewrites.iree.tiles.root import fastest_loop


class FastestLoopTest(unittest.TestCase):
    def test_the_last_index_counts(self) -> None:
        for results, loop in (
            ("(d0, d2)", 2),
            ("(d2, d0)", 0),
            ("(d0, d12)", 12),
            # No loop runs over adjacent elements.
            ("(d0, 0)", -1),
            ("()", -1),
        ):
            self.assertEqual(fastest_loop(f"affine_map<(d0, d1, d2) -> {results}>"), loop, results)


if __name__ == "__main__":
    unittest.main()
