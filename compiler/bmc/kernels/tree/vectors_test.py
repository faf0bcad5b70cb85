"""Tests the choice of vector register groups."""

from __future__ import annotations

import unittest

from bmc.kernels.tree.vectors import Vectors, part
from bmc.kernels.unsupported import Unsupported


class VectorsTest(unittest.TestCase):
    def test_the_highest_comes_first(self) -> None:
        vectors = Vectors(12)
        self.assertEqual([vectors.take(4), vectors.take(4)], ["v8", "v4"])
        vectors.give("v8")
        self.assertEqual(vectors.take(4), "v8")
        self.assertEqual(vectors.peak, 8)
        # v0 counts as long as it holds a mask.
        vectors.use_mask(4)
        self.assertEqual(vectors.peak, 12)

    def test_small_groups_are_behind_each_other(self) -> None:
        vectors = Vectors()
        self.assertEqual(vectors.take(2, lowest=True), "v0")
        self.assertEqual(vectors.take(3, lowest=True, alignment=1), "v2")
        self.assertEqual(vectors.take(2, lowest=True), "v6")
        self.assertEqual(part("v6", 1), "v7")

    def test_none_is_left(self) -> None:
        vectors = Vectors(8)
        copied = vectors.copy()
        vectors.take(8)
        with self.assertRaisesRegex(Unsupported, "too many live values"):
            vectors.take(1)
        with self.assertRaisesRegex(Unsupported, "a comparison among"):
            vectors.use_mask(1)
        self.assertEqual(copied.take(8), "v0")


if __name__ == "__main__":
    unittest.main()
