"""Tests that a scatter to a known place is an update of a slice, by what IREE computes."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support
from numpy.typing import NDArray

from bmc.errors import BmcError
from bmc.rewrites.meaning import known_scatters, scatters_as_points

_MODEL = """func.func @main(%x: tensor<4x5xf32>, %u: tensor<UPDATExf32>) -> tensor<4x5xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %a = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<i32>) -> tensor<1xi32>
  %b = stablehlo.constant dense<2> : tensor<1xi32>
  %i = PLACE
  %y = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = true, unique_indices = true,
      scatter_dimension_numbers = #stablehlo.scatter<NUMBERS>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %twice = stablehlo.multiply %old, %old : tensor<f32>
    %c = stablehlo.subtract %twice, %new : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<COUNTxi32>, tensor<UPDATExf32>) -> tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}
"""
_NONE = "stablehlo.constant dense<> : tensor<0xi32>"
_ONE = "stablehlo.reshape %b : (tensor<1xi32>) -> tensor<1xi32>"
_TWO = "stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>"
_WINDOW = "update_window_dims = [0, 1]"


def _text(update: str, place: str, numbers: str) -> str:
    count = {_NONE: "0", _ONE: "1", _TWO: "2"}[place]
    text = _MODEL.replace("UPDATE", update).replace("PLACE", place).replace("COUNT", count)
    return text.replace("NUMBERS", numbers)


class KnownScattersTest(support.FolderTest):
    def answer(
        self, text: str, x: NDArray[np.float32], u: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        (result,) = self.on_host(text, x, u)
        return result

    def test_parts(self) -> None:
        x = np.arange(20, dtype=np.float32).reshape(4, 5)
        for update, place, numbers, part in (
            ("4x5", _NONE, _WINDOW, np.s_[:, :]),
            ("4x3", _ONE, f"{_WINDOW}, scatter_dims_to_operand_dims = [1]", np.s_[:, 2:5]),
            (
                "3",
                _TWO,
                "update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [0, 1]",
                np.s_[1:4, 2],
            ),
        ):
            with self.subTest(update):
                u = np.random.default_rng(0).random(x[part].shape, np.float32)
                wanted = x.copy()
                wanted[part] = x[part] * x[part] - u
                text = _text(update, place, numbers)
                np.testing.assert_array_equal(self.answer(text, x, u), wanted)
                # If this fails, IREE does it itself, and the rewrite can go.
                with (
                    mock.patch.object(known_scatters, "apply"),
                    mock.patch.object(scatters_as_points, "apply"),
                    self.assertRaises(BmcError),
                ):
                    self.answer(text, x, u)

    def test_bodies_with_constants(self) -> None:
        x = np.arange(20, dtype=np.float32).reshape(4, 5)
        wanted = x.copy()
        wanted[:, 2:5] = 2 * x[:, 2:5] + 0.5
        text = _text("4x3", _ONE, f"{_WINDOW}, scatter_dims_to_operand_dims = [1]")
        before, _, after = text.partition("    %twice")
        # JAX writes such bodies for apply(): one number is the body's, one is from outside.
        body = """    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %twice = stablehlo.multiply %old, %two : tensor<f32>
    %c = stablehlo.add %twice, %half : tensor<f32>
"""
        half = "  %half = stablehlo.constant dense<0.5> : tensor<f32>\n  %i ="
        text = before.replace("  %i =", half) + body + after.partition("%new : tensor<f32>\n")[2]
        np.testing.assert_array_equal(self.answer(text, x, x[:, 2:5]), wanted)
        # A body that returns one number for all elements.
        wanted[:, 2:5] = 0.5
        text = text.replace("return %c", "return %half")
        np.testing.assert_array_equal(self.answer(text, x, x[:, 2:5]), wanted)

    def test_others_stay(self) -> None:
        numbers = f"{_WINDOW}, scatter_dims_to_operand_dims = [1]"
        text = _text("4x3", _ONE, numbers)
        for other in (
            # A part that is not all inside is not written at all.
            text.replace("dense<2>", "dense<3>"),
            text.replace("dense<2>", "dense<-1>"),
            # A place that is computed, and several.
            text.replace("%u: tensor<4x3xf32>)", "%u: tensor<4x3xf32>, %b: tensor<1xi32>)").replace(
                "  %b = stablehlo.constant dense<2> : tensor<1xi32>\n", ""
            ),
            # A body that does more than compute with single elements.
            text.replace(
                "%c = stablehlo.subtract %twice, %new",
                "%z = stablehlo.reshape %new : (tensor<f32>) -> tensor<f32>\n"
                "    %c = stablehlo.subtract %twice, %z",
            ),
        ):
            self.assertEqual(
                support.rewritten(other, known_scatters.apply), support.rewritten(other)
            )


if __name__ == "__main__":
    unittest.main()
