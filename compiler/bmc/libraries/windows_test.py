"""Tests which dispatches are sums over windows, and where their weights are."""

from __future__ import annotations

import unittest
from dataclasses import replace

import numpy as np

from bmc.libraries import Axis, Dispatch, Edge, Loop, Operand, Padding, Windows, windows


def _dispatch(
    loops: list[tuple[int, bool]],
    *steps: tuple[int, ...],
    windows: tuple[tuple[int, int], ...] = (),
) -> Dispatch:
    operands = tuple(Operand("i8", each) for each in steps)
    made = tuple(Loop(*loop) for loop in loops)
    return Dispatch("f", "rv64gc", 0, made, operands, None, (), windows)


# Loops: y, x, outputs, tap_y, tap_x, inputs, of 6 x 6 pixels with 8 channels, and 5 outputs.
_CONVOLUTION = _dispatch(
    [(4, False), (4, False), (5, False), (3, True), (3, True), (8, True)],
    (48, 8, 0, 48, 8, 1),
    (0, 0, 1, 120, 40, 5),
    (20, 5, 1, 0, 0, 0),
    windows=((0, 3), (1, 4)),
)


def _found(dispatch: Dispatch) -> Windows:
    found = windows(dispatch)
    assert found is not None
    return found


class WindowsTest(unittest.TestCase):
    def test_a_convolution_has_pixels_and_runs(self) -> None:
        found = _found(_CONVOLUTION)
        self.assertEqual(found.rows[0], Axis(4, image=48, result=20, sums=20))
        self.assertEqual(found.rows[1], Axis(4, image=8, result=5, sums=5))
        self.assertEqual((found.output.extent, found.output_loop), (5, 2))
        self.assertFalse(found.is_depthwise)
        # Without a padding, an image is what windows need.
        self.assertEqual([(way.low, way.pixels) for way in (found.y, found.x)], [(0, 6)] * 2)
        self.assertEqual((found.x.step, found.x.stride, found.x.dilation), (8, 1, 1))
        self.assertEqual([(axis.extent, axis.image) for axis in found.channels], [(8, 1)])
        # Three pixels that are neighbors are one run.
        self.assertEqual([(run.extent, run.image) for run in found.runs], [(3, 48), (24, 1)])
        self.assertEqual(found.size, 72)

    def test_a_padding_is_of_pixels(self) -> None:
        # Every second pixel of 5 x 5, with one more before.
        image = Operand("i8", (96, 16, 0, 48, 8, 1))
        edges = tuple(Edge(1, 5, each) for each in ((2, 0, 0, 1, 0, 0), (0, 2, 0, 0, 1, 0)))
        padded = replace(
            _CONVOLUTION,
            operands=(image, *_CONVOLUTION.operands[1:]),
            padding=Padding(image, -7, edges),
        )
        x = _found(padded).x
        self.assertEqual((x.low, x.pixels, x.step, x.stride, x.dilation), (1, 5, 8, 2, 1))
        self.assertEqual(x.needed(2), 5)

    def test_the_weights_of_an_output_are_in_the_order_of_the_window(self) -> None:
        weights = np.arange(5 * 72).reshape(5, 3, 3, 8)
        matrix = _found(_CONVOLUTION).matrix(weights)
        np.testing.assert_array_equal(matrix, weights.reshape(5, 72))
        # The same with the outputs' loop behind those of the window.
        loops = [(3, True), (3, True), (8, True), (5, False)]
        steps = (48, 8, 1, 0), (120, 40, 5, 1), (0, 0, 0, 1)
        other = _found(_dispatch(loops, *steps)).matrix(weights.transpose(1, 2, 3, 0))
        np.testing.assert_array_equal(other, matrix)

    def test_runs_are_in_the_order_of_the_image(self) -> None:
        # Planes of channels: the loops are those of _CONVOLUTION, the image has its channels first.
        planes = Operand("i8", (6, 1, 0, 6, 1, 36))
        found = _found(replace(_CONVOLUTION, operands=(planes, *_CONVOLUTION.operands[1:])))
        self.assertEqual([run.image for run in found.runs], [36, 6, 1])
        weights = np.arange(5 * 72).reshape(5, 3, 3, 8)
        by_plane = weights.transpose(0, 3, 1, 2).reshape(5, 72)
        np.testing.assert_array_equal(found.matrix(weights), by_plane)
        # Packed taps have a pixel's channels as neighbors, whatever the image is like.
        np.testing.assert_array_equal(
            found.packed_taps(weights, 8).reshape(5, 72), weights.reshape(5, 72)
        )

    def test_packed_channels_end_in_zeros(self) -> None:
        weights = np.arange(5 * 72).reshape(5, 3, 3, 8)
        packed = _found(_CONVOLUTION).packed_taps(weights, 16)
        self.assertEqual(packed.shape, (5, 9, 16))
        np.testing.assert_array_equal(packed[..., :8], weights.reshape(5, 9, 8))
        self.assertFalse(packed[..., 8:].any())

    def test_rows_of_a_product_are_one_axis(self) -> None:
        found = _found(
            _dispatch(
                [(4, False), (6, False), (5, False), (8, True)],
                (48, 8, 0, 1),
                (0, 0, 1, 5),
                (30, 5, 1, 0),
            )
        )
        self.assertEqual(found.rows, (Axis(), Axis(24, image=8, result=5, sums=5)))
        self.assertEqual((found.y.windows, found.x.windows), (1, 24))

    def test_outputs_that_move_the_image_are_depthwise(self) -> None:
        loops = [(4, False), (8, False), (3, True)]
        found = _found(_dispatch(loops, (8, 1, 8), (0, 1, 8), (8, 1, 0)))
        self.assertTrue(found.is_depthwise)

    def test_others_are_none(self) -> None:
        channels = Edge(1, 6, (0, 0, 0, 0, 0, 1))
        padding = Padding(_CONVOLUTION.a, 0, (channels,))
        self.assertIsNone(windows(replace(_CONVOLUTION, padding=padding)))
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
