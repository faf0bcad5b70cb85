"""Tests that accesses stay inside their tensors: by what IREE computes, and by which indices get a clamp."""

from __future__ import annotations

import unittest

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.meaning import index_bounds

_GATHER = """func.func @main(%x: tensor<5x4xf32>, %i: tensor<6x1xi32>) -> tensor<6x4xf32> {{
  {0}
  %y = "stablehlo.gather"(%x, {1}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 4>}}> : (tensor<5x4xf32>, tensor<6x1xi32>) -> tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}}
"""
# One index, whose parts have limits of their own.
_BLOCK = """func.func @main(%x: tensor<5x4xf32>, %i: tensor<2xi32>) -> tensor<5x1xf32> {
  %y = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1],
      start_index_map = [0, 1]>, slice_sizes = array<i64: 5, 1>}>
      : (tensor<5x4xf32>, tensor<2xi32>) -> tensor<5x1xf32>
  return %y : tensor<5x1xf32>
}
"""
_SCATTER = """func.func @main(%x: tensor<5x4xf32>, %i: tensor<6x2xi32>) -> tensor<5x4xf32> {
  %one = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %y = "stablehlo.scatter"(%x, %i, %one) <{indices_are_sorted = false, unique_indices = false,
      scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1],
      scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<5x4xf32>, tensor<6x2xi32>, tensor<6xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}
"""
_SLICE = """func.func @main(%x: tensor<5x4xf32>, %i: tensor<i32>) -> tensor<5x4xf32> {
  %s = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 3]
      : (tensor<5x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  %n = stablehlo.negate %s : tensor<2x3xf32>
  %y = stablehlo.dynamic_update_slice %x, %n, %i, %i
      : (tensor<5x4xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}
"""
_EXTRACT = """#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<5x4xf32>, %i: tensor<6xi64>) -> tensor<6xf32> {{
  %e = tensor.empty() : tensor<6xf32>
  %y = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}}
      ins(%i : tensor<6xi64>) outs(%e : tensor<6xf32>) {{
  ^bb0(%in: i64, %out: f32):
    %four = arith.constant 4 : index
    %k = linalg.index 0 : index
    %r = arith.index_cast %in : i64 to index
    %c = arith.remui %k, %four : index
    %v = tensor.extract %x[{0}, %c] : tensor<5x4xf32>
    linalg.yield %v : f32
  }} -> tensor<6xf32>
  return %y : tensor<6xf32>
}}
"""
_EXT_READ = """func.func @main(%x: tensor<5x4xf32>, %i: tensor<6x1xi32>) -> tensor<6x4xf32> {
  %e = tensor.empty() : tensor<6x4xf32>
  %y = iree_linalg_ext.gather dimension_map = [0] ins(%x, %i : tensor<5x4xf32>, tensor<6x1xi32>)
      outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}
"""
_EXT = """func.func @main(%x: tensor<5x4xf32>, %i: tensor<2x1xi32>, %u: tensor<2x4xf32>) -> tensor<5x4xf32> {
  %y = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false)
      ins(%u, %i : tensor<2x4xf32>, tensor<2x1xi32>) outs(%x : tensor<5x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    iree_linalg_ext.yield %a : f32
  } -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}
"""
_X = np.arange(20, dtype=np.float32).reshape(5, 4)
_I = np.array([-3, 4, 5, 2**31 - 1, 0, -(2**31)], np.int32)


def _gather(index: str = "%i", more: str = "") -> str:
    return support.rewritten(_GATHER.format(more, index), index_bounds.apply)


class IndicesTest(support.FolderTest):
    def answer(self, text: str, *inputs: Array) -> Array:
        (result,) = self.on_host(text, *inputs)
        return result

    def test_a_gather_reads_the_nearest_row(self) -> None:
        got = self.answer(_GATHER.format("", "%i"), _X, _I[:, None])
        np.testing.assert_array_equal(got, _X[np.clip(_I, 0, 4)])

    def test_a_gather_of_one_block(self) -> None:
        for column in (-1, 2, 7):
            got = self.answer(_BLOCK, _X, np.array([3, column], np.int32))
            np.testing.assert_array_equal(got, _X[:, [min(max(column, 0), 3)]])

    def test_a_scatter_leaves_out_what_is_outside(self) -> None:
        pairs = np.stack([_I, _I[[4, 1, 2, 0, 4, 3]]], 1)
        pairs[1] = (4, 3)
        wanted = _X.copy()
        wanted[4, 3], wanted[0, 0] = 2.0, 5.0
        np.testing.assert_array_equal(self.answer(_SCATTER, _X, pairs), wanted)

    def test_a_slice_begins_where_it_ends_inside(self) -> None:
        bytes_ = _SLICE.replace("tensor<i32>", "tensor<i8>")
        starts = [(_SLICE, start) for start in _I] + [(bytes_, np.int8(start)) for start in (-3, 2)]
        for text, start in starts:
            wanted, (row, column) = _X.copy(), (min(max(start, 0), last) for last in (3, 1))
            wanted[row : row + 2, column : column + 3] *= -1
            got = self.answer(text, _X, np.array(start))
            np.testing.assert_array_equal(got, wanted, str(start))

    def test_an_element_of_a_linalg_body(self) -> None:
        got = self.answer(_EXTRACT.format("%r"), _X, _I.astype(np.int64) * 3)
        wanted = _X[np.clip(_I.astype(np.int64) * 3, 0, 4), np.arange(6) % 4]
        np.testing.assert_array_equal(got, wanted)

    def test_a_gather_of_iree(self) -> None:
        got = self.answer(_EXT_READ, _X, _I[:, None])
        np.testing.assert_array_equal(got, _X[np.clip(_I, 0, 4)])

    def test_a_scatter_of_iree(self) -> None:
        rows = np.array([[-7], [9]], np.int32)
        wanted = _X.copy()
        wanted[[0, 4]] = -_X[:2]
        np.testing.assert_array_equal(self.answer(_EXT, _X, rows, -_X[:2]), wanted)

    def test_what_is_known_to_be_inside_gets_no_clamp(self) -> None:
        self.assertIn("stablehlo.clamp", _gather())
        inside = (
            "%k = stablehlo.constant dense<[[0], [4], [1], [2], [3], [0]]> : tensor<6x1xi32>",
            "%j = stablehlo.iota dim = 1 : tensor<6x1xi32>\n  %z = stablehlo.constant dense<4>"
            " : tensor<6x1xi32>\n  %k = stablehlo.add %j, %z : tensor<6x1xi32>",
        )
        for lines in inside:
            self.assertNotIn("clamp", _gather("%k", lines))
        outside = inside[0].replace("[4]", "[5]"), inside[1].replace("dense<4>", "dense<5>")
        for lines in outside:
            self.assertIn("clamp", _gather("%k", lines))
        text = support.rewritten(_EXTRACT.format("%k"), index_bounds.apply)
        # The first index counts to six, and there are five rows. The second one is a remainder.
        self.assertEqual(text.count("arith.minsi"), 1)

    def test_a_second_time_changes_nothing(self) -> None:
        for text in (_GATHER.format("", "%i"), _SCATTER, _SLICE, _EXTRACT.format("%r"), _EXT):
            once = support.rewritten(text, index_bounds.apply)
            twice = support.rewritten(text, index_bounds.apply, index_bounds.apply)
            if "scatter" not in text:
                self.assertEqual(once, twice)


if __name__ == "__main__":
    unittest.main()
