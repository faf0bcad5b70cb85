"""Tests gathers at indices that are broadcast, against numpy."""

from __future__ import annotations

import unittest

import numpy as np
import support

from bmc.rewrites.iree import separable_gathers

_MODEL = """func.func @main(%x: tensor<3x4x5xf32>, %i: tensor<6xi64>, %j: tensor<2x1x1xi64>) -> tensor<2x6x7xf32> {
  %k = stablehlo.constant dense<[0, 4, 1, 3, 9, 2, 2]> : tensor<7xi64>
  %ib = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<6xi64>) -> tensor<2x6x7xi64>
  %jb = stablehlo.broadcast_in_dim %j, dims = [0, 1, 2] : (tensor<2x1x1xi64>) -> tensor<2x6x7xi64>
  %kb = stablehlo.broadcast_in_dim %k, dims = [2] : (tensor<7xi64>) -> tensor<2x6x7xi64>
  %0 = stablehlo.reshape %jb : (tensor<2x6x7xi64>) -> tensor<2x6x7x1xi64>
  %1 = stablehlo.reshape %ib : (tensor<2x6x7xi64>) -> tensor<2x6x7x1xi64>
  %2 = stablehlo.reshape %kb : (tensor<2x6x7xi64>) -> tensor<2x6x7x1xi64>
  %3 = stablehlo.concatenate %0, %1, %2, dim = 3
      : (tensor<2x6x7x1xi64>, tensor<2x6x7x1xi64>, tensor<2x6x7x1xi64>) -> tensor<2x6x7x3xi64>
  %4 = "stablehlo.gather"(%x, %3) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1, 2],
      start_index_map = [0, 1, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 1>}>
      : (tensor<3x4x5xf32>, tensor<2x6x7x3xi64>) -> tensor<2x6x7xf32>
  return %4 : tensor<2x6x7xf32>
}
"""


class SeparableGathersTest(support.FolderTest):
    def test_each_element_computes_its_indices(self) -> None:
        """Those outside of an axis are limited."""
        text = support.rewritten(_MODEL, separable_gathers.apply)
        self.assertNotIn("stablehlo.gather", text)
        x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
        i, j = np.array([3, 0, -2, 1, 7, 2]), np.array([[[2]], [[0]]])
        rows = np.clip(i, 0, 3)[None, :, None]
        columns = np.clip([0, 4, 1, 3, 9, 2, 2], 0, 4)[None, None, :]
        want = x[j, rows, columns]
        for model in (_MODEL, text):
            (got,) = self.on_host(model, x, i, j)
            np.testing.assert_array_equal(got, want)

    def test_unsigned_bytes(self) -> None:
        text = support.rewritten(_MODEL.replace("xf32", "xui8"), separable_gathers.apply)
        self.assertNotIn("stablehlo.gather", text)
        x = np.arange(200, 260, dtype=np.uint8).reshape(3, 4, 5)
        i, j = np.zeros(6, np.int64), np.array([[[2]], [[0]]])
        (got,) = self.on_host(text, x, i, j)
        np.testing.assert_array_equal(got, np.tile(x[j, 0, [[[0, 4, 1, 3, 4, 2, 2]]]], (1, 6, 1)))

    def test_others_stay_as_they_are(self) -> None:
        for old, new in (
            ("start_index_map = [0, 1, 2]", "start_index_map = [1, 0, 2]"),
            ("stablehlo.reshape %ib", "stablehlo.reshape %computed"),
        ):
            text = _MODEL.replace(
                "  %0 =", "  %computed = stablehlo.add %ib, %ib : tensor<2x6x7xi64>\n  %0 ="
            )
            text = text.replace(old, new)
            self.assertIn("stablehlo.gather", support.rewritten(text, separable_gathers.apply), new)


if __name__ == "__main__":
    unittest.main()
