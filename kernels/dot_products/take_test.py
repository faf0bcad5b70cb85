"""Tests which dispatches go to dot products, as which call, and how their weights are packed."""

from __future__ import annotations

import sys
import unittest
from dataclasses import replace

import numpy as np
from take import take

from bmc.kernels.problem.product import Node
from bmc.libraries import Call, Dispatch, Edge, Loop, Operand, Packed, Padding, Scratch, Sums

# Loops: y, x, outputs, tap_y, tap_x, inputs, of 6 x 6 pixels with 8 channels, and 5 outputs.
_LOOPS = [(4, False), (4, False), (5, False), (3, True), (3, True), (8, True)]
_IMAGE, _WEIGHT, _RESULT = (48, 8, 0, 48, 8, 1), (0, 0, 1, 120, 40, 5), (20, 5, 1, 0, 0, 0)
_WINDOWS = ((0, 3), (1, 4))
# The sum as an int8: scaled by operand 4, shifted by 7, plus 3, and limited.
_NODES = (
    Node("sum", "i32"),
    Node("load", "i32", operand=4),
    Node("fixed_multiply", "i32", (0, 1)),
    Node("constant", "i32", value=7),
    Node("constant", "i32", value=3),
    Node("constant", "i32", value=-128),
    Node("constant", "i32", value=127),
    Node("requantize", "i8", (2, 3, 4, 5, 6)),
)


def _dispatch(
    loops: list[tuple[int, bool]],
    *steps: tuple[int, ...],
    windows: tuple[tuple[int, int], ...] = (),
) -> Dispatch:
    a, b, result = (Operand("i8", each, binding=number) for number, each in enumerate(steps))
    made = tuple(Loop(*loop) for loop in loops)
    operands = (a, b, replace(result, dtype="i32"))
    return Dispatch("f", "rv64gcv_zvl256b_zvdot4a8i", 256, made, operands, None, (), windows)


def _convolution() -> Dispatch:
    return _dispatch(_LOOPS, _IMAGE, _WEIGHT, _RESULT, windows=_WINDOWS)


def _rows(rows: int, outputs: int = 64) -> Dispatch:
    """Rows of 32 bytes."""
    loops = [(rows, False), (outputs, False), (32, True)]
    return _dispatch(loops, (32, 0, 1), (0, 1, outputs), (outputs, 1, 0))


def _requantized(dispatch: Dispatch, output: int, count: int) -> Dispatch:
    a, b, result = dispatch.operands
    steps = tuple(int(number == output) for number in range(len(dispatch.loops)))
    bias = Operand("i32", steps, np.arange(count, dtype=np.int32))
    scale = Operand("i32", steps, np.arange(count, dtype=np.int32) + 2**30)
    operands = (a, b, replace(result, dtype="i8"), bias, scale)
    return replace(dispatch, operands=operands, initial=bias, epilogue=_NODES)


def _pack(call: Call, weights: np.ndarray) -> np.ndarray:
    (packed,) = (each for each in call.arguments if isinstance(each, Packed))
    return packed.pack(weights)


class TakeTest(unittest.TestCase):
    def taken(self, dispatch: Dispatch) -> Call:
        call = take(dispatch)
        assert call is not None
        return call

    def test_a_convolution_has_windows_in_the_lanes(self) -> None:
        call = self.taken(_convolution())
        self.assertEqual(call.function, "dot_windows")
        self.assertIsInstance(call.arguments[-1], Sums)
        wanted = {
            "lines": 4,
            "columns": 4,
            "outputs": 5,
            "image_line": 48,
            "image_pixel": 8,
            "width": 6,
            "height": 6,
            "is_words": 1,
            "quads": 2,
            # All windows fit into a group of registers; their pixels are in 6 lines.
            "block_lines": 4,
            "plane": 24,
        }
        self.assertEqual({name: call.params[name] for name in wanted}, wanted)
        (scratch,) = (each for each in call.arguments if isinstance(each, Scratch))
        self.assertEqual(scratch.byte_count, 3 * 2 * 24 * 4)
        np.testing.assert_array_equal(call.arguments[2], [0, 4, 8])

    def test_weights_are_tiles_of_three_outputs(self) -> None:
        # The weight's axes are its loops: outputs, taps and inputs.
        weight = np.random.default_rng(0).integers(-128, 128, (5, 3, 3, 8), np.int8)
        packed = _pack(self.taken(_convolution()), weight).view(np.int8)
        first, last = packed[: 3 * 72].reshape(18, 3, 4), packed[3 * 72 :].reshape(18, 2, 4)
        for output in range(5):
            found = first[:, output] if output < 3 else last[:, output - 3]
            np.testing.assert_array_equal(found.reshape(-1), weight[output].reshape(-1))

    def test_channels_are_whole_words(self) -> None:
        loops = [*_LOOPS[:-1], (3, True)]
        image, weight = (18, 3, 0, 18, 3, 1), (0, 0, 1, 45, 15, 5)
        call = self.taken(_dispatch(loops, image, weight, _RESULT, windows=_WINDOWS))
        self.assertEqual((call.params["is_words"], call.params["quads"]), (0, 1))
        packed = _pack(call, np.ones((5, 3, 3, 3), np.int8)).view(np.int8).reshape(-1, 4)
        np.testing.assert_array_equal(packed, [[1, 1, 1, 0]] * 45)

    def test_a_padding_is_read(self) -> None:
        dispatch = _convolution()
        edges = (Edge(1, 4, (2, 0, 0, 1, 0, 0)), Edge(0, 5, (0, 2, 0, 0, 1, 0)))
        steps = (64, 16, 0, 32, 8, 1)
        operands = (replace(dispatch.a, steps=steps), *dispatch.operands[1:])
        padding = Padding(operands[0], -7, edges)
        call = self.taken(replace(dispatch, operands=operands, padding=padding))
        self.assertTrue(call.pads)
        wanted = {"low_y": 1, "low_x": 0, "height": 4, "width": 5, "filler": -7, "stride_y": 2}
        self.assertEqual({name: call.params[name] for name in wanted}, wanted)
        # Lines of windows are two lines apart, so each other line is in another place.
        phase = call.params["phase_lines"] * call.params["block_columns"]
        np.testing.assert_array_equal(call.arguments[2], [0, phase, call.params["block_columns"]])

    def test_taps_are_channels_of_a_pixel_with_one(self) -> None:
        # Loops: y, x, outputs, tap_y, tap_x, of 6 x 6 pixels with a pixel more at the left and at the right.
        loops = [(4, False), (6, False), (5, False), (3, True), (3, True)]
        steps = (6, 1, 0, 6, 1), (0, 0, 1, 15, 5), (30, 5, 1, 0, 0)
        dispatch = _dispatch(loops, *steps, windows=_WINDOWS)
        edge = Edge(1, 6, (0, 1, 0, 0, 1))
        call = self.taken(replace(dispatch, padding=Padding(dispatch.a, 9, (edge,))))
        wanted = {
            "channels": 3,
            "tap_columns": 1,
            "tap_lines": 3,
            "image_channel": 1,
            "image_line": 8,
            "width": 8,
            "low_x": 0,
            "padded_width": 6,
            "padded_line": 6,
            "padded_low": 1,
            "filler": 9,
        }
        self.assertEqual({name: call.params[name] for name in wanted}, wanted)
        weight = np.random.default_rng(2).integers(-128, 128, (5, 3, 3), np.int8)
        packed = _pack(call, weight).view(np.int8)[: 3 * 12].reshape(3, 3, 4)
        wanted_words = np.pad(weight[:3], ((0, 0), (0, 0), (0, 1)))
        np.testing.assert_array_equal(packed.transpose(1, 0, 2), wanted_words)
        # Without a padding, the image is read where it is.
        steps = ((8, 1, 0, 8, 1), *steps[1:])
        call = self.taken(_dispatch(loops, *steps, windows=_WINDOWS))
        self.assertEqual((call.params["channels"], call.params["image_line"]), (3, 8))
        self.assertNotIn("padded_width", call.params)

    def test_few_rows_have_outputs_in_the_lanes(self) -> None:
        call = self.taken(_requantized(_rows(4), 1, 64))
        self.assertEqual((call.function, call.params["words"]), ("dot_rows_i8", 8))
        weight = np.random.default_rng(1).integers(-128, 128, (64, 32), np.int8)
        words = _pack(call, weight).view(np.int8).reshape(8, 64, 4)
        np.testing.assert_array_equal(words.transpose(1, 0, 2).reshape(64, 32), weight)
        self.assertEqual(self.taken(_rows(128, 8)).function, "dot_windows")

    def test_a_requantization_is_part_of_the_call(self) -> None:
        call = self.taken(_requantized(_convolution(), 2, 5))
        self.assertEqual(call.function, "dot_windows_i8")
        self.assertTrue(call.finishes)
        limits = {"zero": 3, "low": -128, "high": 127, "down_if_negative": 0, "up": 0}
        self.assertEqual({name: call.params[name] for name in limits}, limits)
        biases, multipliers, shifts = call.arguments[4:7]
        np.testing.assert_array_equal(biases, range(5))
        np.testing.assert_array_equal(multipliers, [2**30 + i for i in range(5)])
        np.testing.assert_array_equal(shifts, [7] * 5)

    def test_another_epilogue_stays_c(self) -> None:
        dispatch = _requantized(_convolution(), 2, 5)
        nodes = (*_NODES[:-1], Node("maxsi", "i8", (2, 5)))
        call = self.taken(replace(dispatch, epilogue=nodes))
        self.assertEqual(call.function, "dot_windows")
        self.assertIsInstance(call.arguments[-1], Sums)

    def test_others_are_left(self) -> None:
        dispatch = _convolution()
        floats = tuple(replace(each, dtype="f32") for each in dispatch.operands)
        self.assertIsNone(take(replace(dispatch, operands=floats)))
        # Loops: y, x, channels, taps: a depthwise convolution.
        loops = [(4, False), (4, False), (8, False), (3, True), (3, True)]
        steps = (48, 8, 1, 48, 8), (0, 0, 1, 24, 8), (32, 8, 1, 0, 0)
        self.assertIsNone(take(_dispatch(loops, *steps, windows=_WINDOWS)))
        # A padding of channels.
        edge = Edge(1, 6, (0, 0, 0, 0, 0, 1))
        self.assertIsNone(take(replace(dispatch, padding=Padding(dispatch.a, 0, (edge,)))))


if __name__ == "__main__":
    sys.exit(unittest.main())
