"""Tests which products go to the matrix unit, and as which call."""

from __future__ import annotations

import sys
import unittest
from dataclasses import replace

import numpy as np
from take import take

from bmc.kernels.problem.product import Node
from bmc.libraries import Call, Dispatch, Edge, Loop, Operand, Packed, Padding, Sums

# Loops: y, x, outputs, tap_y, tap_x, inputs, of 6 x 6 pixels with 8 channels, and 20 outputs.
_LOOPS = (
    Loop(4, False),
    Loop(4, False),
    Loop(20, False),
    Loop(3, True),
    Loop(3, True),
    Loop(8, True),
)
_IMAGE, _WEIGHT, _RESULT = (48, 8, 0, 48, 8, 1), (0, 0, 1, 480, 160, 20), (80, 20, 1, 0, 0, 0)
# The sum, scaled by operand 4, shifted by 7, plus 3, and limited.
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
# What those take: 64, (6 * 6 * 8 + 20 * 72 + 4 * 4 * 20) / 8 = 256, and 16 windows * 9 taps * 2, and a submission.
_COST = 64 + 256 + 288 + 200


def _convolution() -> Dispatch:
    by_output = (0, 0, 1, 0, 0, 0)
    a, b, result = (
        Operand("i8", steps, binding=i) for i, steps in enumerate((_IMAGE, _WEIGHT, _RESULT))
    )
    bias = Operand("i32", by_output, np.arange(20, dtype=np.int32))
    scale = Operand("i32", by_output, np.arange(20, dtype=np.int32) + 2**30)
    operands = (a, b, result, bias, scale)
    return Dispatch("f", "rv64gc", 0, _LOOPS, operands, bias, _NODES, ((0, 3), (1, 4)))


def _taken(dispatch: Dispatch) -> Call:
    call = take(dispatch)
    assert call is not None
    return call


class TakeTest(unittest.TestCase):
    def test_a_requantization_is_part_of_the_call(self) -> None:
        call = _taken(_convolution())
        self.assertEqual((call.function, call.wait), ("matrix_unit_i8", "matrix_unit_wait"))
        self.assertTrue(call.finishes)
        wanted = {"lines": 4, "outputs": 20, "channels": 8, "image_output": 0, "result_y": 80}
        wanted |= {"zero": 3, "low": -128, "high": 127, "up": 0}
        self.assertEqual({name: call.params[name] for name in wanted}, wanted)
        packed = call.arguments[1]
        assert isinstance(packed, Packed)
        weights = np.arange(20 * 72).reshape(20, 3, 3, 8).astype(np.int8)
        stored = packed.pack(weights.transpose(1, 2, 3, 0).transpose(3, 0, 1, 2))
        np.testing.assert_array_equal(stored.reshape(-1), weights.reshape(-1))

    def test_another_epilogue_stays_c(self) -> None:
        nodes = (*_NODES[:-1], Node("maxsi", "i8", (2, 5)))
        call = _taken(replace(_convolution(), epilogue=nodes))
        self.assertEqual((call.function, call.wait), ("matrix_unit_sums", "matrix_unit_wait"))
        self.assertIsInstance(call.arguments[-1], Sums)
        self.assertFalse(call.finishes)

    def test_the_unit_reads_what_is_around_an_image(self) -> None:
        found = _convolution()
        edges = (Edge(1, 4, (1, 0, 0, 1, 0, 0)), Edge(1, 4, (0, 1, 0, 0, 1, 0)))
        image = replace(found.a, steps=(32, 8, 0, 32, 8, 1))
        operands = (image, *found.operands[1:])
        call = _taken(replace(found, operands=operands, padding=Padding(image, -5, edges)))
        self.assertTrue(call.pads)
        wanted = {"height": 4, "width": 4, "low_y": 1, "low_x": 1, "filler": -5}
        self.assertEqual({name: call.params[name] for name in wanted}, wanted)

    def test_a_product_goes_where_it_is_cheaper(self) -> None:
        dispatch = _convolution()
        self.assertIsNone(take(replace(dispatch, cost=_COST)))
        self.assertIsNotNone(take(replace(dispatch, cost=_COST + 1)))
        # If the hart has to compute what follows, that counts as well.
        nodes = (*_NODES[:-1], Node("maxsi", "i8", (2, 5)))
        self.assertIsNone(take(replace(dispatch, cost=_COST + 1, epilogue=nodes)))

    def test_others_are_left(self) -> None:
        dispatch = _convolution()
        floats = tuple(replace(each, dtype="f32") for each in dispatch.operands)
        self.assertIsNone(take(replace(dispatch, operands=floats)))
        # A product of batches has too many axes.
        loops = (Loop(2, False), *_LOOPS)
        steps = [(400, *each.steps) for each in dispatch.operands]
        batches = tuple(
            replace(each, steps=more) for each, more in zip(dispatch.operands, steps, strict=True)
        )
        more = replace(dispatch, loops=loops, operands=batches, windows=((1, 4), (2, 5)))
        self.assertIsNone(take(more))


if __name__ == "__main__":
    sys.exit(unittest.main())
