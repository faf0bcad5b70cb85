"""Tests that the factors of an integer product are scalars."""

from __future__ import annotations

import unittest

import convolutions
import support

from bmc.rewrites.iree import scalar_operands


class RewriteTest(unittest.TestCase):
    def test_elements_are_taken_out_before_they_are_widened(self) -> None:
        text = support.rewritten(
            """func.func @f(%v: vector<4xi8>, %i: index) -> (i32, i32) {
  %wide = arith.extsi %v : vector<4xi8> to vector<4xi32>
  %a = vector.extract %wide[1] : i32 from vector<4xi32>
  %b = vector.extract %wide[%i] : i32 from vector<4xi32>
  return %a, %b : i32, i32
}
""",
            scalar_operands.apply,
        )
        self.assertEqual(text.count("arith.extsi %"), 2)
        self.assertEqual(text.count(" : i8 to i32"), 2)
        for place in ("[1]", "[%arg1]"):
            self.assertIn(f"vector.extract %arg0{place} : i8 from vector<4xi8>", text)

    def test_rows_are_left_alone(self) -> None:
        text = support.rewritten(
            """func.func @f(%v: vector<2x4xi8>) -> vector<4xi32> {
  %wide = arith.extsi %v : vector<2x4xi8> to vector<2x4xi32>
  %row = vector.extract %wide[1] : vector<4xi32> from vector<2x4xi32>
  return %row : vector<4xi32>
}
""",
            scalar_operands.apply,
        )
        self.assertIn("arith.extsi %arg0 : vector<2x4xi8> to vector<2x4xi32>", text)


class ScalarOperandsTest(support.FolderTest):
    def code(self, *without: str) -> list[int]:
        """Returns the instructions of IREE's kernel."""
        with support.without("own_kernels", "wide_weights", *without):
            return convolutions.words(convolutions.text("i8", 32), self.folder)

    def test_int8_factors_are_scalars_of_widening_multiply_adds(self) -> None:
        code = self.code()
        # 4 pixels and 3 taps.
        self.assertEqual(convolutions.count(code, convolutions.VWMACC_VX), 12)
        self.assertEqual(convolutions.count(code, convolutions.VRGATHER), 0)

    def test_without_the_rewrite_factors_are_gathered(self) -> None:
        code = self.code("scalar_operands")
        self.assertGreater(convolutions.count(code, convolutions.VRGATHER), 0)


if __name__ == "__main__":
    unittest.main()
