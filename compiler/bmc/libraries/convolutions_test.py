"""Tests which dispatches are convolutions, and what each of their loops is."""

from __future__ import annotations

import unittest

from bmc.libraries import (
    Axis,
    Convolution,
    Dispatch,
    Edge,
    Loop,
    Operand,
    Padding,
    convolution,
    matmul,
)

# Loops: y, x, outputs, tap_y, tap_x, inputs, of images 6 x 6 x 3 and 4 channels of results.
_LOOPS = [(4, False), (4, False), (4, False), (3, True), (3, True), (3, True)]
_IMAGE, _WEIGHT, _RESULT = (18, 3, 0, 18, 3, 1), (0, 0, 1, 36, 12, 4), (16, 4, 1, 0, 0, 0)
_WINDOWS = ((0, 3), (1, 4))


def _dispatch(
    loops: list[tuple[int, bool]],
    *steps: tuple[int, ...],
    windows: tuple[tuple[int, int], ...] = _WINDOWS,
    edges: tuple[Edge, ...] = (),
) -> Dispatch:
    operands = tuple(Operand("i8", each) for each in steps)
    padding = Padding(operands[0], -128, edges) if edges else None
    made = tuple(Loop(*loop) for loop in loops)
    return Dispatch("f", "rv64gc", 0, made, operands, None, (), windows, padding)


def _found(dispatch: Dispatch) -> Convolution:
    found = convolution(dispatch)
    assert found is not None
    return found


class ConvolutionTest(unittest.TestCase):
    def test_each_loop_has_a_name(self) -> None:
        found = _found(_dispatch(_LOOPS, _IMAGE, _WEIGHT, _RESULT))
        self.assertEqual(found.y, Axis(4, 18, 0, 16, 16))
        self.assertEqual(found.x, Axis(4, 3, 0, 4, 4))
        self.assertEqual(found.outputs, Axis(4, 0, 1, 1, 1))
        self.assertEqual(found.tap_y, Axis(3, 18, 36, 0, 0))
        self.assertEqual(found.tap_x, Axis(3, 3, 12, 0, 0))
        self.assertEqual(found.inputs, Axis(3, 1, 4, 0, 0))
        self.assertEqual((found.groups, found.batch), (Axis(), Axis()))
        self.assertFalse(found.is_depthwise)
        self.assertEqual((found.edge_y, found.edge_x), (None, None))

    def test_a_depthwise_convolution_has_outputs(self) -> None:
        loops = _LOOPS[:-1]
        found = _found(_dispatch(loops, (24, 4, 1, 24, 4), (0, 0, 1, 12, 4), (16, 4, 1, 0, 0)))
        self.assertTrue(found.is_depthwise)
        self.assertEqual((found.outputs.extent, found.inputs, found.groups), (4, Axis(), Axis()))

    def test_a_padding_has_its_axes(self) -> None:
        edge = Edge(1, 4, (0, 1, 0, 0, 1, 0))
        found = _found(_dispatch(_LOOPS, _IMAGE, _WEIGHT, _RESULT, edges=(edge,)))
        self.assertEqual((found.edge_y, found.edge_x, found.filler), (None, edge, -128))

    def test_a_window_of_one_axis_slides_along_x(self) -> None:
        loops = [(4, False), (4, False), (3, True), (3, True)]
        steps = ((3, 0, 3, 1), (0, 1, 12, 4), (4, 1, 0, 0))
        found = _found(_dispatch(loops, *steps, windows=((0, 2),)))
        self.assertEqual((found.y, found.tap_y), (Axis(), Axis()))
        self.assertEqual((found.x.extent, found.tap_x.extent), (4, 3))

    def test_other_dispatches_are_none(self) -> None:
        self.assertIsNone(convolution(_dispatch(_LOOPS, _IMAGE, _WEIGHT, _RESULT, windows=())))
        two = [*_LOOPS, (2, True)]
        steps = ((*_IMAGE, 200), (*_WEIGHT, 200), (*_RESULT, 0))
        self.assertIsNone(convolution(_dispatch(two, *steps)))
        # Nor is a convolution a matrix product, even if its window has one tap.
        small = [(4, False), (4, False), (4, False), (1, True), (1, True), (3, True)]
        self.assertIsNone(matmul(_dispatch(small, _IMAGE, _WEIGHT, _RESULT)))


if __name__ == "__main__":
    unittest.main()
