"""Tests that a result is stored through a view."""

from __future__ import annotations

import unittest

import support

from bmc.rewrites import views

_STORE = """func.func @f(%value: tensor<1x8x4x16xi8>,
    %buffer: memref<8x4x16xi8, strided<[96, 16, 1], offset: 112>>) {
  %true = arith.constant true
  %empty = tensor.empty() : tensor<8x4x16xi8>
  %0 = iree_linalg_ext.map_store %value into %empty {
  ^bb0(%n: index, %y: index, %x: index, %c: index):
    %row = affine.linearize_index disjoint [%n, ROW] by (1, 8) : index
    iree_linalg_ext.yield %row, COLUMN, %c, %true : index, index, index, i1
  } : tensor<1x8x4x16xi8> into tensor<8x4x16xi8> -> tensor<8x4x16xi8>
  iree_codegen.store_to_buffer %0, %buffer : tensor<8x4x16xi8>
    into memref<8x4x16xi8, strided<[96, 16, 1], offset: 112>>
  return
}
"""


class ViewsTest(support.FolderTest):
    def rewritten(self, row: str, column: str) -> str:
        return support.rewritten(_STORE.replace("ROW", row).replace("COLUMN", column), views.apply)

    def test_result_is_stored_through_a_view_with_the_lost_dimension(self) -> None:
        text = self.rewritten("%y", "%x")
        self.assertNotIn("map_store", text)
        self.assertIn("memref<1x8x4x16xi8, strided<[768, 96, 16, 1], offset: 112>>", text)

    def test_anything_but_a_reshape_is_left_alone(self) -> None:
        self.assertIn("map_store", self.rewritten("%x", "%y"))


if __name__ == "__main__":
    unittest.main()
