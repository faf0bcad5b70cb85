"""Tests which dispatches go to matrix instructions, as which call, and how their weights are packed."""

from __future__ import annotations

import sys
import unittest
from dataclasses import replace

import numpy as np
from take import take

from bmc import target
from bmc.libraries import Call, Dispatch, Edge, Loop, Operand, Packed, Padding, Scratch, Sums

_ISA = "rv64gcv_zvl256b_xsmtvdot"
# Loops: y, x, outputs, tap_y, tap_x, inputs, of 6 x 6 pixels with 12 channels, and 5 outputs.
_LOOPS = [(4, False), (4, False), (5, False), (3, True), (3, True), (12, True)]
_IMAGE, _WEIGHT, _RESULT = (72, 12, 0, 72, 12, 1), (0, 0, 1, 180, 60, 5), (20, 5, 1, 0, 0, 0)
_WINDOWS = ((0, 3), (1, 4))


def _dispatch(
    loops: list[tuple[int, bool]],
    *steps: tuple[int, ...],
    windows: tuple[tuple[int, int], ...] = (),
) -> Dispatch:
    a, b, result = (Operand("i8", each, binding=number) for number, each in enumerate(steps))
    made = tuple(Loop(*loop) for loop in loops)
    operands = (a, b, replace(result, dtype="i32"))
    return Dispatch("f", _ISA, 256, made, operands, None, (), windows)


def _convolution() -> Dispatch:
    return _dispatch(_LOOPS, _IMAGE, _WEIGHT, _RESULT, windows=_WINDOWS)


class TakeTest(unittest.TestCase):
    def taken(self, dispatch: Dispatch) -> Call:
        call = take(dispatch)
        assert call is not None
        return call

    def test_a_convolution_reads_packed_pixels(self) -> None:
        call = self.taken(_convolution())
        self.assertEqual(call.function, "matrix_windows")
        self.assertIsInstance(call.arguments[-1], Sums)
        # 8 pixels of a tile, and two behind them for the taps; 6 lines of them, of two times 8 channels.
        wanted = {
            "groups": 2,
            "phases": 1,
            "line_pixels": 10,
            "needed": 6,
            "block_lines": 4,
            "steps": 18,
        }
        self.assertEqual({name: call.params[name] for name in wanted}, wanted)
        (scratch,) = (each for each in call.arguments if isinstance(each, Scratch))
        self.assertEqual(scratch.byte_count, 2 * 6 * 10 * 8)
        offsets = [
            8 * ((group * 6 + y) * 10 + x) for y in range(3) for x in range(3) for group in range(2)
        ]
        np.testing.assert_array_equal(call.arguments[2], offsets)

    def test_weights_are_steps_of_sixteen_outputs(self) -> None:
        # The weight's axes are its loops: outputs, taps and inputs.
        weight = np.random.default_rng(0).integers(-128, 128, (5, 3, 3, 12), np.int8)
        (packed,) = (
            each for each in self.taken(_convolution()).arguments if isinstance(each, Packed)
        )
        steps = packed.pack(weight).reshape(9, 2, 16, 8)
        taps = weight.reshape(5, 9, 12)
        for output in range(5):
            np.testing.assert_array_equal(steps[:, 0, output], taps[output, :, :8])
            np.testing.assert_array_equal(steps[:, 1, output, :4], taps[output, :, 8:])
        self.assertFalse(steps[:, :, 5:].any())
        self.assertFalse(steps[:, 1, :, 4:].any())

    def test_a_stride_has_columns_in_phases(self) -> None:
        dispatch = _convolution()
        edges = (Edge(1, 4, (2, 0, 0, 1, 0, 0)), Edge(0, 5, (0, 2, 0, 0, 1, 0)))
        operands = (replace(dispatch.a, steps=(144, 24, 0, 72, 12, 1)), *dispatch.operands[1:])
        padding = Padding(operands[0], -7, edges)
        call = self.taken(replace(dispatch, operands=operands, padding=padding))
        self.assertTrue(call.pads)
        wanted = {"low_y": 1, "low_x": 0, "filler": -7, "stride_x": 2, "phases": 2, "needed": 9}
        self.assertEqual({name: call.params[name] for name in wanted}, wanted)
        # The taps of the first line, of the first 8 channels: even, odd, and even again, one further.
        np.testing.assert_array_equal(call.arguments[2][:6:2], [0, 2 * 9 * 9 * 8, 8])

    def test_what_would_leave_matrices_empty_is_left(self) -> None:
        # The compiler stores images with so many as pixels, because they are taken.
        fewest = target.find(_ISA).dot_channels
        for channels, takes in ((fewest, True), (fewest - 1, False)):
            loops = [*_LOOPS[:-1], (channels, True)]
            call = take(_dispatch(loops, _IMAGE, _WEIGHT, _RESULT, windows=_WINDOWS))
            self.assertEqual(call is not None, takes, channels)
        few_rows = [(3, False), (64, False), (32, True)]
        self.assertIsNone(take(_dispatch(few_rows, (32, 0, 1), (0, 1, 64), (64, 1, 0))))

    def test_floats_are_left(self) -> None:
        dispatch = _convolution()
        floats = tuple(replace(each, dtype="f32") for each in dispatch.operands)
        self.assertIsNone(take(replace(dispatch, operands=floats)))


if __name__ == "__main__":
    sys.exit(unittest.main())
