"""Tests which dispatches are sums over windows, and where their weights are."""

from __future__ import annotations

import unittest
from dataclasses import replace

import numpy as np

from bmc.libraries import Axis, Dispatch, Loop, Operand, Padding, Windows, windows


def _dispatch(loops: list[tuple[int, bool]], *steps: tuple[int, ...]) -> Dispatch:
    operands = tuple(Operand("i8", each) for each in steps)
    return Dispatch("f", "rv64gc", 0, tuple(Loop(*loop) for loop in loops), operands, None, ())


# Loops: y, x, outputs, tap_y, tap_x, inputs, of 6 x 6 pixels with 8 channels, and 5 outputs.
_CONVOLUTION = _dispatch(
    [(4, False), (4, False), (5, False), (3, True), (3, True), (8, True)],
    (48, 8, 0, 48, 8, 1),
    (0, 0, 1, 120, 40, 5),
    (20, 5, 1, 0, 0, 0),
)


def _found(dispatch: Dispatch) -> Windows:
    found = windows(dispatch)
    assert found is not None
    return found


class WindowsTest(unittest.TestCase):
    def test_a_convolution_has_lines_of_runs(self) -> None:
        found = _found(_CONVOLUTION)
        self.assertEqual((found.y.extent, found.y.image, found.y.result), (4, 48, 20))
        self.assertEqual((found.x.extent, found.x.image, found.x.result), (4, 8, 5))
        self.assertEqual((found.output.extent, found.output_loop), (5, 2))
        self.assertFalse(found.is_depthwise)
        # Three pixels that are neighbors are one run.
        self.assertEqual([(tap.extent, tap.image) for tap in found.taps], [(3, 48), (24, 1)])
        self.assertEqual(found.size, 72)

    def test_the_weights_of_an_output_are_in_the_order_of_the_window(self) -> None:
        weights = np.arange(5 * 72).reshape(5, 3, 3, 8)
        matrix = _found(_CONVOLUTION).matrix(weights)
        np.testing.assert_array_equal(matrix, weights.reshape(5, 72))
        # The same with the outputs' loop behind those of the window.
        loops = [(3, True), (3, True), (8, True), (5, False)]
        steps = (48, 8, 1, 0), (120, 40, 5, 1), (0, 0, 0, 1)
        other = _found(_dispatch(loops, *steps)).matrix(weights.transpose(1, 2, 3, 0))
        np.testing.assert_array_equal(other, matrix)

    def test_rows_of_a_product_are_one_axis(self) -> None:
        found = _found(
            _dispatch(
                [(4, False), (6, False), (5, False), (8, True)],
                (48, 8, 0, 1),
                (0, 0, 1, 5),
                (30, 5, 1, 0),
            )
        )
        self.assertEqual((found.y, found.x.extent, found.x.image), (Axis(), 24, 8))

    def test_outputs_that_move_the_image_are_depthwise(self) -> None:
        loops = [(4, False), (8, False), (3, True)]
        found = _found(_dispatch(loops, (8, 1, 8), (0, 1, 8), (8, 1, 0)))
        self.assertTrue(found.is_depthwise)

    def test_others_are_none(self) -> None:
        self.assertIsNone(windows(replace(_CONVOLUTION, padding=Padding(_CONVOLUTION.a, 0, ()))))
        # Three axes of rows that are not one.
        loops = [(2, False), (2, False), (2, False), (5, False), (8, True)]
        steps = (100, 30, 8, 0, 1), (0, 0, 0, 1, 5), (20, 10, 5, 1, 0)
        self.assertIsNone(windows(_dispatch(loops, *steps)))
        # Two axes of outputs, and nothing that is summed.
        loops = [(4, False), (5, False), (8, True)]
        self.assertIsNone(windows(_dispatch(loops, (0, 0, 1), (40, 8, 1), (5, 1, 0))))
        self.assertIsNone(windows(_dispatch(loops[:2], (1, 0), (0, 1), (5, 1))))


if __name__ == "__main__":
    unittest.main()
