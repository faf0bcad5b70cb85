"""Tests that the factors of an integer product are scalars."""

from __future__ import annotations

import unittest

import convolutions
import support


class ScalarOperandsTest(support.FolderTest):
    def test_int8_factors_are_scalars_of_widening_multiply_adds(self) -> None:
        code = convolutions.words(convolutions.text("i8", 32), self.folder)
        # 4 pixels and 3 taps.
        self.assertEqual(convolutions.count(code, convolutions.VWMACC_VX), 12)
        self.assertEqual(convolutions.count(code, convolutions.VRGATHER), 0)

    def test_without_the_rewrite_factors_are_gathered(self) -> None:
        with support.without("scalar_operands"):
            code = convolutions.words(convolutions.text("i8", 32), self.folder)
        self.assertGreater(convolutions.count(code, convolutions.VRGATHER), 0)


if __name__ == "__main__":
    unittest.main()
