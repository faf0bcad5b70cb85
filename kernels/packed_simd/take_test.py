"""Tests which dispatches go to packed SIMD, as which call, and how their weights and numbers are packed."""

from __future__ import annotations

import sys
import unittest
from dataclasses import replace

import numpy as np
from take import take

from bmc.kernels.problem.product import Node
from bmc.libraries import Call, Dispatch, Loop, Operand, Packed, Padding, Sums

# Loops: y, x, outputs, tap_y, tap_x, inputs, of 6 x 6 pixels with 8 channels, and 5 outputs.
_LOOPS = [(4, False), (4, False), (5, False), (3, True), (3, True), (8, True)]
_IMAGE, _WEIGHT, _RESULT = (48, 8, 0, 48, 8, 1), (0, 0, 1, 120, 40, 5), (20, 5, 1, 0, 0, 0)
_PER_OUTPUT = (0, 0, 1, 0, 0, 0)
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


def _dispatch(loops: list[tuple[int, bool]], *steps: tuple[int, ...]) -> Dispatch:
    a, b, result = (Operand("i8", each, binding=number) for number, each in enumerate(steps))
    made = tuple(Loop(*loop) for loop in loops)
    return Dispatch("f", "rv64gcp", 0, made, (a, b, replace(result, dtype="i32")), None, ())


def _requantized(dispatch: Dispatch) -> Dispatch:
    a, b, result = dispatch.operands
    steps = tuple(int(bool(step)) for step in _PER_OUTPUT[: len(dispatch.loops)])
    bias = Operand("i32", steps, np.arange(5, dtype=np.int32))
    scale = Operand("i32", steps, np.arange(5, dtype=np.int32) + 2**30)
    operands = (a, b, replace(result, dtype="i8"), bias, scale)
    return replace(dispatch, operands=operands, initial=bias, epilogue=_NODES)


def _packed(call: Call) -> Packed:
    (packed,) = (each for each in call.arguments if isinstance(each, Packed))
    return packed


class TakeTest(unittest.TestCase):
    def taken(self, dispatch: Dispatch) -> Call:
        call = take(dispatch)
        assert call is not None
        return call

    def test_a_convolution_is_dot_products_of_runs(self) -> None:
        call = self.taken(_dispatch(_LOOPS, _IMAGE, _WEIGHT, _RESULT))
        self.assertEqual(call.function, "packed_dot")
        self.assertIsInstance(call.arguments[-1], Sums)
        self.assertFalse(call.finishes)
        # Three lines of three pixels that are neighbors.
        wanted = {
            "lines": 4,
            "columns": 4,
            "outputs": 5,
            "tap_lines": 1,
            "tap_columns": 3,
            "run": 24,
        }
        self.assertEqual({name: call.params[name] for name in wanted}, wanted)
        self.assertEqual(call.params["image_tap_x"], 48)
        self.assertEqual((call.params["is_aligned"], call.params["stores_words"]), (1, 0))

    def test_weights_are_tiles_of_four_outputs(self) -> None:
        call = self.taken(_dispatch(_LOOPS, _IMAGE, _WEIGHT, _RESULT))
        # The weight's axes are its loops: outputs, taps and inputs.
        weight = np.random.default_rng(0).integers(-128, 128, (5, 3, 3, 8), np.int8)
        packed = _packed(call).pack(weight).reshape(2, 9, 4, 8)
        for output in range(8):
            word = packed[output // 4, :, output % 4].reshape(-1)
            wanted = weight[output].reshape(-1) if output < 5 else np.zeros(72, np.int8)
            np.testing.assert_array_equal(word, wanted)

    def test_a_requantization_is_part_of_the_call(self) -> None:
        call = self.taken(_requantized(_dispatch(_LOOPS, _IMAGE, _WEIGHT, _RESULT)))
        self.assertEqual(call.function, "packed_dot_i8")
        self.assertTrue(call.finishes)
        limits = {"zero": 3, "low": -128, "high": 127, "down_if_negative": 0}
        self.assertEqual({name: call.params[name] for name in limits}, limits)
        biases, multipliers, shifts = call.arguments[3:6]
        np.testing.assert_array_equal(biases, [0, 1, 2, 3, 4, 0, 0, 0])
        np.testing.assert_array_equal(
            multipliers, np.repeat([*(2**30 + i for i in range(5)), 0, 0, 0], 2)
        )
        np.testing.assert_array_equal(shifts, [-7] * 5 + [0] * 3)

    def test_another_epilogue_stays_c(self) -> None:
        dispatch = _requantized(_dispatch(_LOOPS, _IMAGE, _WEIGHT, _RESULT))
        nodes = (*_NODES[:-1], Node("maxsi", "i8", (2, 5)))
        call = self.taken(replace(dispatch, epilogue=nodes))
        self.assertEqual(call.function, "packed_dot")
        self.assertIsInstance(call.arguments[-1], Sums)

    def test_a_depthwise_convolution_has_words_of_taps(self) -> None:
        # Loops: y, x, channels, tap_y, tap_x.
        loops = [(4, False), (4, False), (8, False), (3, True), (3, True)]
        steps = (48, 8, 1, 48, 8), (0, 0, 1, 24, 8), (32, 8, 1, 0, 0)
        call = self.taken(_dispatch(loops, *steps))
        self.assertEqual(
            (call.function, call.params["groups"], call.params["taps"]), ("packed_depthwise", 1, 12)
        )
        offsets = next(each for each in call.arguments if isinstance(each, np.ndarray))
        np.testing.assert_array_equal(offsets, [0, 8, 16, 48, 56, 64, 96, 104, 112, 0, 0, 0])
        weight = np.random.default_rng(1).integers(-128, 128, (8, 3, 3), np.int8)
        packed = _packed(call).pack(weight).reshape(1, 3, 8, 4)
        for channel in range(8):
            taps = packed[0, :, channel].reshape(-1)
            np.testing.assert_array_equal(taps, [*weight[channel].reshape(-1), 0, 0, 0])
        narrow = [(4, False), (4, False), (6, False), (3, True), (3, True)]
        self.assertIsNone(take(_dispatch(narrow, *steps)))

    def test_others_are_left(self) -> None:
        dispatch = _dispatch(_LOOPS, _IMAGE, _WEIGHT, _RESULT)
        padded = replace(dispatch, padding=Padding(dispatch.a, 0, ()))
        self.assertIsNone(take(padded))
        floats = tuple(replace(each, dtype="f32") for each in dispatch.operands)
        self.assertIsNone(take(replace(dispatch, operands=floats)))
        # Bytes that are no neighbors.
        self.assertIsNone(take(_dispatch(_LOOPS, (12, 2, 0, 12, 2, 72), _WEIGHT, _RESULT)))


if __name__ == "__main__":
    sys.exit(unittest.main())
