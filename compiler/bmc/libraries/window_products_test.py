"""Tests which dispatches are products of windows with weights, and how their parameters are made."""

from __future__ import annotations

import unittest

import numpy as np

from bmc.libraries import (
    Dispatch,
    Edge,
    Loop,
    Operand,
    Padding,
    Requantization,
    Scale,
    WindowProduct,
    output_numbers,
    packed_taps,
    window_params,
    window_product,
)

_IMAGE = Operand("i8", (96, 16, 0, 48, 8, 1))
_WEIGHTS = Operand("i8", (0, 0, 1, 120, 40, 5))
_RESULT = Operand("i8", (10, 5, 1, 0, 0, 0))


def _dispatch(
    loops: list[tuple[int, bool]],
    operands: tuple[Operand, ...],
    windows: tuple[tuple[int, int], ...] = (),
    padding: Padding | None = None,
) -> Dispatch:
    return Dispatch(
        "f",
        "rv64gcv_zvl256b",
        256,
        tuple(Loop(*loop) for loop in loops),
        operands,
        None,
        (),
        windows=windows,
        padding=padding,
    )


# Loops: y, x, outputs, tap_y, tap_x, inputs: 5 x 5 pixels with 8 channels and one line and column beside them, windows
# of 3 x 3 at every second pixel, and 5 outputs.
def _convolution(padded: bool = True) -> Dispatch:
    steps = ((2, 0, 0, 1, 0, 0), (0, 2, 0, 0, 1, 0))
    padding = Padding(_IMAGE, -7, tuple(Edge(1, 5, each) for each in steps)) if padded else None
    loops = [(2, False), (2, False), (5, False), (3, True), (3, True), (8, True)]
    return _dispatch(loops, (_IMAGE, _WEIGHTS, _RESULT), ((0, 3), (1, 4)), padding)


def _found(dispatch: Dispatch) -> WindowProduct:
    found = window_product(dispatch)
    assert found is not None
    return found


class WindowProductsTest(unittest.TestCase):
    def test_a_convolution(self) -> None:
        dispatch = _convolution()
        found = _found(dispatch)
        self.assertEqual((found.channels, found.channel, found.outputs, found.output), (8, 1, 5, 2))
        self.assertEqual((found.result, found.order), ((10, 5, 1), (2, 3, 4, 5)))
        params = window_params(dispatch, found)
        wanted = {"stride_y": 2, "dilation_x": 1, "low_y": 1, "height": 5, "filler": -7}
        self.assertEqual({name: params[name] for name in wanted}, wanted)
        self.assertEqual((params["image_line"], params["image_pixel"]), (48, 8))

    def test_without_a_padding_an_image_is_what_windows_need(self) -> None:
        found = _found(_convolution(padded=False))
        self.assertEqual([(way.low, way.pixels) for way in found.ways], [(0, 5), (0, 5)])

    def test_rows_of_a_matrix_are_one_axis(self) -> None:
        loops = [(4, False), (6, False), (5, False), (8, True)]
        steps = ((48, 8, 0, 1), (0, 0, 1, 5), (30, 5, 1, 0))
        found = _found(_dispatch(loops, tuple(Operand("i8", each) for each in steps)))
        self.assertEqual([way.windows for way in found.ways], [1, 24])

    def test_what_moves_with_the_outputs_is_no_such_product(self) -> None:
        loops = [(4, False), (8, False), (3, True)]
        steps = ((8, 1, 8), (0, 1, 8), (8, 1, 0))
        dispatch = _dispatch(loops, tuple(Operand("i8", each) for each in steps), ((0, 2),))
        self.assertIsNone(window_product(dispatch))

    def test_weights_end_in_zeros(self) -> None:
        weights = np.arange(5 * 72, dtype=np.int32).reshape(5, 3, 3, 8)
        dispatch = _convolution()
        # As Packed gives them: an axis for each loop that moves the weights, outermost first.
        packed = packed_taps(dispatch, _found(dispatch), weights, 16)
        self.assertEqual(packed.shape, (5, 9, 16))
        np.testing.assert_array_equal(packed[..., :8], weights.reshape(5, 9, 8))
        self.assertFalse(packed[..., 8:].any())

    def test_numbers_of_each_output_or_of_all(self) -> None:
        dispatch = _convolution()
        per_output = Operand("i32", (0, 0, 1, 0, 0, 0))
        per_pixel = Operand("i32", (0, 1, 0, 0, 0, 0))
        product = _found(dispatch)

        def numbers(bias: Operand) -> tuple[Operand | int, ...] | None:
            how = Requantization(bias, Scale(3, 4), 0, -128, 127)
            return output_numbers(dispatch, product, how)

        self.assertEqual(numbers(per_output), (per_output, 3, 4))
        self.assertIsNone(numbers(per_pixel))


if __name__ == "__main__":
    unittest.main()
