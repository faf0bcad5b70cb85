"""Tests which epilogues are requantizations, and the arrays that calls get of them."""

from __future__ import annotations

import unittest
from dataclasses import replace

import numpy as np

from bmc.kernels.product import Node
from bmc.libraries import (
    Dispatch,
    Loop,
    Operand,
    Packed,
    Requantization,
    per_output,
    requantization,
)

_OUTPUTS, _OUTPUT_LOOP = 5, 1
_SCALED = (Node("sum", "i32"), Node("load", "i32", operand=4), Node("scaled", "i32", (0, 1)))
_LIMITS = tuple(Node("constant", "i32", value=value) for value in (7, 3, -128, 127))
_NODES = (*_SCALED, *_LIMITS, Node("clipped", "i8", (2, 3, 4, 5, 6)))


def _dispatch(nodes: tuple[Node, ...] = _NODES, scale: tuple[int, ...] = (0, 1, 0)) -> Dispatch:
    loops = (Loop(4, False), Loop(_OUTPUTS, False), Loop(8, True))
    operands = (
        Operand("i8", (8, 0, 1)),
        Operand("i8", (0, 1, 5)),
        Operand("i8", (5, 1, 0)),
        Operand("i32", (0, 1, 0), binding=3),
        Operand("i32", scale, binding=4),
    )
    return Dispatch("f", "rv64gc", 0, loops, operands, operands[3], nodes)


def _found(dispatch: Dispatch) -> Requantization | None:
    return requantization(dispatch, _OUTPUT_LOOP)


class RequantizationTest(unittest.TestCase):
    def test_numbers_and_limits(self) -> None:
        dispatch = _dispatch()
        found = _found(dispatch)
        assert found is not None
        self.assertIs(found.bias, dispatch.operands[3])
        self.assertIs(found.multiplier, dispatch.operands[4])
        self.assertEqual(
            (found.shift, found.is_down, found.zero, found.low, found.high),
            (7, False, 3, -128, 127),
        )

    def test_one_less_where_the_sum_is_negative(self) -> None:
        def nodes(bits: int) -> tuple[Node, ...]:
            sign = (
                Node("constant", "i32", value=bits),
                Node("shrsi", "i32", (0, 3)),
                Node("addi", "i32", (2, 4)),
            )
            return (*_SCALED, *sign, *_LIMITS, Node("clipped", "i8", (5, 6, 7, 8, 9)))

        found = _found(_dispatch(nodes(31)))
        assert found is not None
        self.assertTrue(found.is_down)
        self.assertIsNone(_found(_dispatch(nodes(30))))

    def test_others_are_none(self) -> None:
        self.assertIsNone(_found(_dispatch(())))
        self.assertIsNone(_found(_dispatch((*_NODES[:-1], Node("maxsi", "i8", (2, 5))))))
        # A multiplier for each row, or one that is no constant.
        self.assertIsNone(_found(_dispatch(scale=(1, 0, 0))))
        self.assertIsNone(_found(_dispatch((_NODES[0], Node("mulhi", "i32", (0, 0)), *_NODES[2:]))))

    def test_arrays_are_padded_repeated_and_multiplied(self) -> None:
        array = per_output(7, 3, multiple=4, factor=-1)
        np.testing.assert_array_equal(array, [-7, -7, -7, 0])
        known = replace(_dispatch().operands[4], values=np.arange(3))
        np.testing.assert_array_equal(per_output(known, 3, copies=2), [0, 0, 1, 1, 2, 2])
        packed = per_output(_dispatch().operands[4], _OUTPUTS)
        assert isinstance(packed, Packed)
        np.testing.assert_array_equal(packed.pack(np.arange(5)), np.arange(5))


if __name__ == "__main__":
    unittest.main()
