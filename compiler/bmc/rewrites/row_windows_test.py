"""Tests that a window of one column is read in vectors by IREE's kernels."""

from __future__ import annotations

import unittest

import convolutions
import support


class RowWindowsTest(support.FolderTest):
    COLUMN = (
        convolutions.text("f32", 32)
        .replace("3x3x16x", "3x1x16x")
        .replace("1x16x16x32", "1x16x18x32")
    )

    def multiply_adds(self, *without: str) -> int:
        """Returns how many instructions of IREE's kernel multiply a vector by a scalar and add."""
        with support.without("own_kernels", *without):
            words = convolutions.words(self.COLUMN, self.folder)
        return convolutions.count(words, convolutions.VFMACC_VF)

    def test_window_of_one_column_is_read_in_vectors(self) -> None:
        self.assertGreater(self.multiply_adds(), 0)

    def test_without_the_rewrite_one_number_is_computed_at_a_time(self) -> None:
        self.assertEqual(self.multiply_adds("row_windows"), 0)


if __name__ == "__main__":
    unittest.main()
