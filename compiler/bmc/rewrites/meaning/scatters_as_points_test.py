"""Tests scatters that IREE has no form for, by what its host runtime computes."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support
from numpy.typing import NDArray

from bmc.errors import BmcError
from bmc.rewrites.meaning import scatters_as_points

_MODEL = """
func.func @main(%x: tensor<SHAPExf32>, %i: tensor<INDICESxi32>, %u: tensor<UPDATExf32>) -> tensor<SHAPExf32> {
  %y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<NUMBERS>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %c = stablehlo.multiply %old, %new : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<SHAPExf32>, tensor<INDICESxi32>, tensor<UPDATExf32>) -> tensor<SHAPExf32>
  return %y : tensor<SHAPExf32>
}
"""


def _text(shape: str, indices: str, update: str, numbers: str) -> str:
    text = _MODEL.replace("SHAPE", shape).replace("INDICES", indices).replace("UPDATE", update)
    return text.replace("NUMBERS", numbers)


_LAST = _text(
    "4x5x6",
    "2x2x2",
    "4x2x2",
    "update_window_dims = [0], inserted_window_dims = [1, 2], scatter_dims_to_operand_dims = [2, 1],"
    " index_vector_dim = 2",
)
_WINDOW = _text(
    "6x5",
    "3",
    "2x3x4",
    "update_window_dims = [0, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
)
_BATCHES = _text(
    "7x2x3",
    "1x4x3",
    "4x3x2",
    "update_window_dims = [2], inserted_window_dims = [0], input_batching_dims = [2],"
    " scatter_indices_batching_dims = [2], scatter_dims_to_operand_dims = [0], index_vector_dim = 0",
)


class ScattersAsPointsTest(support.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.rng = np.random.default_rng(0)

    def check(
        self,
        text: str,
        x: NDArray[np.float32],
        i: NDArray[np.int32],
        u: NDArray[np.float32],
        wanted: NDArray[np.float32],
    ) -> None:
        (found,) = self.on_host(text, x, i, u)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        with mock.patch.object(scatters_as_points, "apply"), self.assertRaises(BmcError):
            self.on_host(text, x, i, u)

    def numbers(self, *shape: int) -> NDArray[np.float32]:
        return self.rng.standard_normal(shape).astype(np.float32)

    def test_the_last_dimensions(self) -> None:
        x, u = self.numbers(4, 5, 6), self.numbers(4, 2, 2)
        # Two points are the same, and one lies outside.
        i = np.array([[[5, 1], [0, 4]], [[5, 1], [0, 5]]], np.int32)
        wanted = x.copy()
        for a, b in ((0, 0), (0, 1), (1, 0)):
            wanted[:, i[a, b, 1], i[a, b, 0]] *= u[:, a, b]
        self.check(_LAST, x, i, u, wanted)

    def test_windows(self) -> None:
        x, u = self.numbers(6, 5), self.numbers(2, 3, 4)
        i = np.array([3, 4, 5], np.int32)  # Of the last one, only a half would lie inside.
        wanted = x.copy()
        for number, first in enumerate(i[:2]):
            wanted[first : first + 2, :4] *= u[:, number]
        self.check(_WINDOW, x, i, u, wanted)

    def test_batches(self) -> None:
        x, u = self.numbers(7, 2, 3), self.numbers(4, 3, 2)
        i = self.rng.integers(0, 7, (1, 4, 3)).astype(np.int32)
        wanted = x.copy()
        for number in range(4):
            for batch in range(3):
                wanted[i[0, number, batch], :, batch] *= u[number, batch]
        self.check(_BATCHES, x, i, u, wanted)


if __name__ == "__main__":
    unittest.main()
