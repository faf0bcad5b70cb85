"""Tests gradients of pools against sums over windows, by what IREE computes."""

from __future__ import annotations

import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.rewrites.meaning import window_scatters

_REPORT = Path(__file__).parents[4] / "docs/upstream/iree-window-scatters.md"
_GRADIENT = """func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {{
  %start = stablehlo.constant dense<{start}> : tensor<f32>
  %y = stablehlo.constant dense<{sources}> : tensor<{count}xf32>
  %r = "stablehlo.select_and_scatter"(%x, %y, %start) <{{window_dimensions = array<i64: {size}>,
      window_strides = array<i64: 2>, padding = dense<[[{low}, {high}]]> : tensor<1x2xi64>}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %stays = stablehlo.compare {direction}, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %stays : tensor<i1>
    }}, {{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %two = stablehlo.constant dense<2.0> : tensor<f32>
      %twice = stablehlo.multiply %b, %two : tensor<f32>
      %sum = stablehlo.add %a, %twice : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }}) : (tensor<6xf32>, tensor<{count}xf32>, tensor<f32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}}
"""


class WindowScattersTest(support.FolderTest):
    def check(self, x: list[int], direction: str, size: int, low: int, high: int) -> None:
        """Compares what IREE computes with a walk over all windows, one place after the other."""
        stays = {"GE": np.greater_equal, "GT": np.greater, "LE": np.less_equal}[direction]
        count = (len(x) + low + high - size) // 2 + 1
        want: Array = np.full(len(x), 0.5, np.float32)
        for window in range(count):
            inside = [i for i in range(2 * window - low, 2 * window - low + size) if 0 <= i < 6]
            chosen = inside[0]
            for place in inside[1:]:
                chosen = chosen if stays(x[chosen], x[place]) else place
            want[chosen] += 2 * (window + 1)
        text = _GRADIENT.format(
            start=0.5,
            sources=[window + 1.0 for window in range(count)],
            count=count,
            size=size,
            low=low,
            high=high,
            direction=direction,
        )
        (got,) = self.on_host(text, np.array(x, np.float32))
        self.assertEqual(got.tolist(), want.tolist())

    def test_first_of_equal_elements_gets_the_gradient(self) -> None:
        for direction in ("GE", "GT", "LE"):
            self.check([1, 1, 4, 3, 5, 6], direction, 2, 0, 0)
        text = _REPORT.read_text(encoding="utf-8").partition("```mlir\n")[2].partition("```")[0]
        x = np.array([1, 1, 4, 3, 5, 6], np.float32)
        self.assertEqual(self.on_host(text, x)[0].tolist(), [1, 0, 2, 0, 0, 3])
        with mock.patch.object(window_scatters, "apply"):
            # If IREE asks as StableHLO does, this is no reason for the rewrite.
            self.assertEqual(self.on_host(text, x)[0].tolist(), [0, 1, 2, 0, 0, 3])

    def test_windows_that_overlap_or_reach_into_padding(self) -> None:
        for size, low, high in ((3, 0, 1), (3, 1, 1), (4, 2, 0)):
            # No element of the padding is selected, though all are less.
            self.check([-1, -3, -2, -2, -1, -4], "GE", size, low, high)
            self.check([1, 3, 2, 2, 1, 4], "LE", size, low, high)
            with mock.patch.object(window_scatters, "apply"), self.assertRaises(BmcError):
                # If IREE compiles them, this is no reason for the rewrite.
                self.check([1, 3, 2, 2, 1, 4], "LE", size, low, high)


if __name__ == "__main__":
    unittest.main()
