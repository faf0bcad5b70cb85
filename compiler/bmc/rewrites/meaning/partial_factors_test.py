"""Tests sums over several axes of products with a factor that has only some of them, against numpy."""

from __future__ import annotations

import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import support

from bmc.rewrites.meaning import partial_factors

_REPORT = Path(__file__).parents[4] / "docs/upstream/iree-partial-factors.md"
_MODEL = """func.func @main(%x: tensor<6x15x10xf32>, %w: tensor<{0}xf32>) -> tensor<6xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %w, dims = [{1}] : (tensor<{0}xf32>) -> tensor<6x15x10xf32>
  %p = stablehlo.multiply %x, %b : tensor<6x15x10xf32>
  %y = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1, 2]
      : (tensor<6x15x10xf32>, tensor<f32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}}
"""


def _reported() -> str:
    _, _, text = _REPORT.read_text(encoding="utf-8").partition("```mlir\n")
    return text.partition("```")[0]


class PartialFactorsTest(support.FolderTest):
    def test_a_row_of_weights(self) -> None:
        rng = np.random.default_rng(0)
        rows, cubes = rng.random((15, 10), np.float32), rng.random((6, 15, 10), np.float32)
        weights = rng.random(10, np.float32)
        for text, x, axes in ((_reported(), rows, (0, 1)), (_MODEL.format(10, 2), cubes, (1, 2))):
            # If this fails, IREE does it itself, and the rewrite can go.
            with mock.patch.object(partial_factors, "apply"):
                self.refuses("op-rejected", call=lambda t=text, x=x: self.on_host(t, x, weights))
            (got,) = self.on_host(text, x, weights)
            np.testing.assert_allclose(got, (x * weights).sum(axes), 1e-5)

    def test_others_stay_fused(self) -> None:
        for shape, axes in (("15x10", "1, 2"), ("6", "0"), ("15", "1"), ("10", "2")):
            text = support.rewritten(_MODEL.format(shape, axes), partial_factors.apply)
            self.assertEqual("barrier" in text, shape == "10", shape)
        number = _reported().replace("(j)>", "()>").replace("tensor<10xf32>", "f32")
        self.assertNotIn("barrier", support.rewritten(number, partial_factors.apply))
        text = _MODEL.format(10, 2).replace("applies stablehlo.add", "applies stablehlo.maximum")
        self.assertNotIn("barrier", support.rewritten(text, partial_factors.apply))


if __name__ == "__main__":
    unittest.main()
