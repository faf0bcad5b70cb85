"""Tests that the factors behind a convolution become part of its weights, and that results stay what they are."""

from __future__ import annotations

import re
import unittest
from typing import Any

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.weights import normalizations


def _floats(numbers: list[Any]) -> str:
    return str(np.array(numbers, float).tolist())


_WEIGHTS = [[1, 2], [3, 5], [7, 11]]
_MEAN = [1, -2, 3]
_GAMMA = [2, 0.5, -4]
_MODEL = f"""
func.func @main(%x: tensor<1x4x2xf32>) -> tensor<1x4x3xf32> {{
  %weights = stablehlo.constant dense<{_floats(_WEIGHTS)}> : tensor<3x2xf32>
  %kernel = stablehlo.reshape %weights : (tensor<3x2xf32>) -> tensor<3x2x1xf32>
  %y = stablehlo.convolution(%x, %kernel) dim_numbers = [b, 0, f]x[o, i, 0]->[b, 0, f], window = {{}}
      {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
      : (tensor<1x4x2xf32>, tensor<3x2x1xf32>) -> tensor<1x4x3xf32>
  %mean = stablehlo.constant dense<{_floats(_MEAN)}> : tensor<3xf32>
  %gamma = stablehlo.constant dense<{_floats(_GAMMA)}> : tensor<3xf32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %mean, dims = [2] : (tensor<3xf32>) -> tensor<1x4x3xf32>
  %1 = stablehlo.broadcast_in_dim %gamma, dims = [2] : (tensor<3xf32>) -> tensor<1x4x3xf32>
  %2 = stablehlo.broadcast_in_dim %half, dims = [] : (tensor<f32>) -> tensor<1x4x3xf32>
  %3 = stablehlo.subtract %y, %0 : tensor<1x4x3xf32>
  %4 = stablehlo.multiply %1, %3 : tensor<1x4x3xf32>
  %5 = stablehlo.subtract %2, %4 : tensor<1x4x3xf32>
  %6 = stablehlo.divide %5, %2 : tensor<1x4x3xf32>
  %7 = stablehlo.abs %6 : tensor<1x4x3xf32>
  return %7 : tensor<1x4x3xf32>
}}
"""
_X = np.arange(8, dtype=np.float32).reshape(1, 4, 2)


def _ops(text: str) -> list[str]:
    return re.findall(r"stablehlo\.(\w+)", text)


class NormalizationsTest(support.FolderTest):
    def host(self, text: str) -> Array:
        (result,) = self.on_host(text, _X)
        return result

    def test_the_weights_are_multiplied(self) -> None:
        product = _X @ np.transpose(_WEIGHTS)
        expected = np.abs((0.5 - _GAMMA * (product - _MEAN)) / 0.5)
        text = support.rewritten(_MODEL, normalizations.apply)
        self.assertEqual(_ops(text)[-4:], ["convolution", "broadcast_in_dim", "add", "abs"])
        self.assertEqual(_ops(text).count("convolution"), 1)
        # All of these numbers and their products are exact.
        np.testing.assert_array_equal(self.host(text), expected)
        np.testing.assert_array_equal(self.host(_MODEL), expected)

    def test_a_division_by_the_result_stays(self) -> None:
        text = _MODEL.replace("stablehlo.divide %5, %2", "stablehlo.divide %2, %5")
        after = support.rewritten(text, normalizations.apply)
        self.assertEqual(_ops(after)[-5:-1], ["convolution", "broadcast_in_dim", "add", "divide"])
        np.testing.assert_allclose(self.host(after), self.host(text), rtol=1e-6)

    def test_nothing_else_changes(self) -> None:
        for old, new in (
            ("abs %6", "add %6, %y"),
            (
                "broadcast_in_dim %gamma, dims = [2] : (tensor<3xf32>)",
                "broadcast_in_dim %x0, dims = [1] : (tensor<4xf32>)",
            ),
            ("multiply %1, %3", "maximum %1, %3"),
            ("reshape %weights", "reshape %given"),
        ):
            with self.subTest(new):
                self.assertIn(old, _MODEL)
                text = _MODEL.replace(old, new).replace(
                    "(%x:", "(%given: tensor<3x2xf32>, %x0: tensor<4xf32>, %x:"
                )
                before = support.rewritten(text, lambda *_: None)
                self.assertEqual(support.rewritten(text, normalizations.apply), before)


if __name__ == "__main__":
    unittest.main()
