"""Tests that a result is stored through a view."""

from __future__ import annotations

import unittest

import support

from bmc.rewrites.iree import result_views

# Padding leaves room between rows, so strides differ from extents.
_STORE = """func.func @f(%value: tensor<SHAPExi8>,
    %buffer: memref<8x4x16xi8, strided<[96, 16, 1], offset: 112>>) {
  %true = arith.constant true
  %empty = tensor.empty() : tensor<8x4x16xi8>
  %0 = iree_linalg_ext.map_store %value into %empty {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    %merged = affine.linearize_index disjoint MERGED : index
    iree_linalg_ext.yield PLACE, %true : index, index, index, i1
  } : tensor<SHAPExi8> into tensor<8x4x16xi8> -> tensor<8x4x16xi8>
  iree_codegen.store_to_buffer %0, %buffer : tensor<8x4x16xi8>
    into memref<8x4x16xi8, strided<[96, 16, 1], offset: 112>>
  return
}
"""


class ViewsTest(support.FolderTest):
    def rewritten(self, shape: str, merged: str, place: str) -> str:
        text = _STORE.replace("SHAPE", shape).replace("MERGED", merged).replace("PLACE", place)
        return support.rewritten(text, result_views.apply)

    def test_result_is_stored_through_a_view_with_the_lost_dimension(self) -> None:
        for shape, merged, place, strides in (
            ("1x8x4x16", "[%a, %b] by (1, 8)", "%merged, %c, %d", "768, 96, 16, 1"),
            ("8x1x4x16", "[%b, %c] by (1, 4)", "%a, %merged, %d", "96, 64, 16, 1"),
            ("8x4x1x16", "[%c, %d] by (1, 16)", "%a, %b, %merged", "96, 16, 16, 1"),
            ("8x4x16x1", "[%c, %d] by (16, 1)", "%a, %b, %merged", "96, 16, 1, 1"),
        ):
            text = self.rewritten(shape, merged, place)
            self.assertNotIn("map_store", text)
            self.assertIn(f"memref<{shape}xi8, strided<[{strides}], offset: 112>>", text)

    def test_anything_but_a_reshape_is_left_alone(self) -> None:
        transposed = self.rewritten("1x8x4x16", "[%a, %c] by (1, 8)", "%merged, %b, %d")
        self.assertIn("map_store", transposed)

    def test_a_store_of_some_elements_is_left_alone(self) -> None:
        mask = "%some = arith.cmpi ult, %b, %c : index\n    iree_linalg_ext.yield PLACE, %some"
        text = _STORE.replace("iree_linalg_ext.yield PLACE, %true", mask)
        for part, value in (
            ("SHAPE", "1x8x4x16"),
            ("MERGED", "[%a, %b] by (1, 8)"),
            ("PLACE", "%merged, %c, %d"),
        ):
            text = text.replace(part, value)
        self.assertIn("map_store", support.rewritten(text, result_views.apply))


if __name__ == "__main__":
    unittest.main()
