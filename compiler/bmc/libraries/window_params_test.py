"""Tests how the parameters of calls for products of windows are made."""

from __future__ import annotations

import unittest

import numpy as np

from bmc.libraries import (
    Addition,
    Dispatch,
    Edge,
    Loop,
    Operand,
    Packed,
    Padding,
    Requantization,
    Scale,
    Term,
    Windows,
    addition_params,
    limits,
    output_numbers,
    result_steps,
    sums_steps,
    window_params,
    windows,
)

_IMAGE = Operand("i8", (96, 16, 0, 48, 8, 1))


# Loops: y, x, outputs, tap_y, tap_x, inputs: 5 x 5 pixels with 8 channels and one line and column beside them, windows
# of 3 x 3 at every second pixel, and 5 outputs, whose results have a gap behind each line.
def _convolution() -> Windows:
    steps = ((2, 0, 0, 1, 0, 0), (0, 2, 0, 0, 1, 0))
    loops = [(2, False), (2, False), (5, False), (3, True), (3, True), (8, True)]
    dispatch = Dispatch(
        "f",
        "rv64gcv_zvl256b",
        256,
        tuple(Loop(*loop) for loop in loops),
        (
            _IMAGE,
            Operand("i8", (0, 0, 1, 120, 40, 5)),
            Operand("i8", (15, 5, 1, 0, 0, 0)),
        ),
        None,
        (),
        windows=((0, 3), (1, 4)),
        padding=Padding(_IMAGE, -7, tuple(Edge(1, 5, each) for each in steps)),
    )
    found = windows(dispatch)
    assert found is not None
    return found


class WindowParamsTest(unittest.TestCase):
    def test_an_image_and_its_windows(self) -> None:
        params = window_params(_convolution())
        wanted = {
            "lines": 2,
            "outputs": 5,
            "channels": 8,
            "image_line": 48,
            "image_pixel": 8,
            "image_channel": 1,
            "stride_y": 2,
            "dilation_x": 1,
            "low_y": 1,
            "height": 5,
            "filler": -7,
        }
        self.assertEqual({name: params[name] for name in wanted}, wanted)

    def test_steps_of_results_and_sums(self) -> None:
        found = _convolution()
        wanted = {"result_y": 15, "result_x": 5, "result_o": 1}
        self.assertEqual(result_steps(found), wanted)
        self.assertEqual(sums_steps(found), wanted | {"result_y": 10})

    def test_numbers_of_each_output_or_of_all(self) -> None:
        found = _convolution()

        def numbers(steps: tuple[int, ...]) -> tuple[object, ...] | None:
            bias = Operand("i32", steps)
            return output_numbers(found, Requantization(bias, Scale(3, 4), 0, -128, 127))

        made = numbers((0, 0, 1, 0, 0, 0))
        assert made is not None
        self.assertIsInstance(made[0], Packed)
        np.testing.assert_array_equal(made[1:], [[3] * 5, [4] * 5])
        self.assertIsNone(numbers((0, 1, 0, 0, 0, 0)))
        self.assertIsNone(output_numbers(found, None))

    def test_what_outputs_share(self) -> None:
        wanted = {"up": 2, "down_if_negative": 1, "zero": -6, "low": -128, "high": 127}
        how = Requantization(0, Scale(3, 4, True, up=2), -6, -128, 127)
        self.assertEqual(limits(how), wanted)

    def test_an_addition(self) -> None:
        total = Requantization(0, Scale(2000, 18, True), -5, -127, 100)
        first = Requantization(0, Scale(3, 4), -6, -128, 127)
        other = Operand("i8", (15, 5, 1, 0, 0, 0))
        a, b = Term(-6, 19, None), Term(9, 20, Scale(1500, 2))
        params = addition_params(Addition(first=first, a=a, other=other, b=b, total=total))
        wanted = {
            "a_up": 19,
            "b_up": 20,
            "b_multiplier": 1500,
            "b_down": 0,
            "b_shift": 2,
            "b_zero": 9,
            "added_multiplier": 2000,
            "added_down": 1,
            "added_shift": 18,
            "added_zero": -5,
            "added_low": -127,
            "added_high": 100,
        }
        self.assertEqual(params, wanted)


if __name__ == "__main__":
    unittest.main()
