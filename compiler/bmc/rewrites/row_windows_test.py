"""Tests that a window of one column is read in vectors."""

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

    def multiply_adds(self) -> int:
        """Returns how many instructions multiply a vector by a scalar and add."""
        return convolutions.count(
            convolutions.words(self.COLUMN, self.folder), convolutions.VFMACC_VF
        )

    def test_window_of_one_column_is_read_in_vectors(self) -> None:
        self.assertGreater(self.multiply_adds(), 0)

    def test_without_the_rewrite_one_number_is_computed_at_a_time(self) -> None:
        with support.without("row_windows"):
            self.assertEqual(self.multiply_adds(), 0)


if __name__ == "__main__":
    unittest.main()
