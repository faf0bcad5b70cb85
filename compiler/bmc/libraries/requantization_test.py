"""Tests which epilogues are requantizations and additions, and what their numbers are."""

from __future__ import annotations

import itertools
import unittest
from dataclasses import replace

import numpy as np

from bmc.kernels.problem.product import Node
from bmc.libraries import (
    Addition,
    Dispatch,
    Loop,
    Operand,
    Requantization,
    Scale,
    Term,
    addition,
    is_per_output,
    per_output,
    requantization,
    requantization_by_output,
)

_RESULT = Operand("i8", (4, 1, 0))
_OTHER = Operand("i8", (4, 1, 0))
_BIAS, _SCALE = (Operand("i32", (0, 1, 0), np.arange(4, dtype=np.int32)) for _ in range(2))


class _Nodes:
    """Makes an epilogue; methods return a node's number."""

    def __init__(self) -> None:
        self.made = [Node("sum", "i32")]

    def op(self, name: str, *args: int, operand: int = 0, dtype: str = "i32") -> int:
        self.made.append(Node(name, dtype, args, operand=operand))
        return len(self.made) - 1

    def constant(self, value: int) -> int:
        self.made.append(Node("constant", "i32", value=value))
        return len(self.made) - 1

    def scaled(self, value: int, multiplier: int, is_down: bool) -> int:
        product = self.op("fixed_multiply", value, multiplier)
        if not is_down:
            return product
        return self.op("addi", product, self.op("shrsi", value, self.constant(31)))

    def shifted(self, name: str, value: int, zero: int) -> int:
        return self.op(name, value, self.constant(zero)) if zero else value

    def clipped(self, value: int, shift: int) -> None:
        limits = [self.constant(each) for each in (shift, -5, -128, 100)]
        self.op("requantize", value, *limits, dtype="i8")


def _dispatch(nodes: _Nodes, initial: Operand | None = None) -> Dispatch:
    # Operands 3 to 5 are a bias, a scale and another tensor.
    operands = (Operand("i8", ()), Operand("i8", ()), _RESULT, _BIAS, _SCALE, _OTHER)
    loops = (Loop(3, False), Loop(4, False), Loop(8, True))
    return Dispatch("f", "rv64gc", 0, loops, operands, initial, tuple(nodes.made))


class RequantizationTest(unittest.TestCase):
    def test_a_scaled_sum(self) -> None:
        for is_down in (False, True):
            nodes = _Nodes()
            nodes.clipped(nodes.scaled(0, nodes.op("load", operand=4), is_down), 7)
            wanted = Requantization(_BIAS, Scale(_SCALE, 7, is_down), -5, -128, 100)
            self.assertEqual(requantization(_dispatch(nodes, _BIAS)), wanted)
            self.assertIsNone(addition(_dispatch(nodes)))

    def test_the_high_half_of_a_product(self) -> None:
        nodes = _Nodes()
        biased = nodes.op("addi", 0, nodes.op("load", operand=3))
        raised = nodes.op("shli", biased, nodes.constant(2))
        nodes.clipped(nodes.op("mulhi", raised, nodes.op("load", operand=4)), 9)
        wanted = Requantization(_BIAS, Scale(_SCALE, 9, up=2), -5, -128, 100)
        self.assertEqual(requantization(_dispatch(nodes)), wanted)
        # Two biases are not one.
        self.assertIsNone(requantization(_dispatch(nodes, _BIAS)))

    def test_numbers_that_are_computed_are_not_offered(self) -> None:
        computed, plain = _Nodes(), _Nodes()
        factor = computed.op("addi", computed.constant(3), computed.constant(4))
        computed.clipped(computed.scaled(0, factor, is_down=False), 7)
        plain.clipped(0, 7)  # no number at all
        for nodes in (computed, plain):
            self.assertIsNone(requantization(_dispatch(nodes)))

    def test_by_output(self) -> None:
        nodes = _Nodes()
        nodes.clipped(nodes.scaled(0, nodes.op("load", operand=4), is_down=False), 7)
        dispatch = _dispatch(nodes, _BIAS)
        self.assertEqual(requantization_by_output(dispatch, 1), requantization(dispatch))
        self.assertIsNone(requantization_by_output(dispatch, 0))
        raised = _Nodes()
        shifted = raised.op("shli", 0, raised.constant(2))
        raised.clipped(raised.op("mulhi", shifted, raised.op("load", operand=4)), 9)
        self.assertIsNotNone(requantization(_dispatch(raised)))
        self.assertIsNone(requantization_by_output(_dispatch(raised), 1))

    def test_another_sign_is_another_epilogue(self) -> None:
        nodes = _Nodes()
        product = nodes.op("fixed_multiply", 0, nodes.op("load", operand=4))
        sign = nodes.op("shrsi", 0, nodes.constant(30))
        nodes.clipped(nodes.op("addi", product, sign), 7)
        self.assertIsNone(requantization(_dispatch(nodes)))

    def test_an_addition(self) -> None:
        # Nothing is added or taken off where a zero point is zero.
        for turned, zero, zero_of_other in itertools.product((False, True), (-6, 0), (9, 0)):
            nodes = _Nodes()
            first = nodes.scaled(0, nodes.op("load", operand=4), True)
            first = nodes.op("rounding_shift", first, nodes.constant(8))
            first = nodes.shifted("addi", first, zero)
            first = nodes.op("maxsi", first, nodes.constant(-128))
            first = nodes.op("minsi", first, nodes.constant(127))
            a = nodes.op("shli", nodes.shifted("subi", first, zero), nodes.constant(19))
            other = nodes.op("extsi", nodes.op("load", operand=5, dtype="i8"))
            b = nodes.op("shli", nodes.shifted("subi", other, zero_of_other), nodes.constant(20))
            b = nodes.scaled(b, nodes.constant(1500), False)
            b = nodes.op("rounding_shift", b, nodes.constant(2))
            both = nodes.op("addi", b, a) if turned else nodes.op("addi", a, b)
            nodes.clipped(nodes.scaled(both, nodes.constant(2000), True), 18)
            dispatch = _dispatch(nodes, _BIAS)
            wanted = Addition(
                first=Requantization(_BIAS, Scale(_SCALE, 8, True), zero, -128, 127),
                a=Term(zero, 19, None),
                other=_OTHER,
                b=Term(zero_of_other, 20, Scale(1500, 2)),
                total=Requantization(0, Scale(2000, 18, True), -5, -128, 100),
            )
            self.assertEqual(addition(dispatch), wanted)
            self.assertIsNone(requantization(dispatch))
            # Another tensor that is read elsewhere than the result is stored.
            moved = replace(_OTHER, steps=(1, 4, 0))
            operands = (*dispatch.operands[:5], moved)
            self.assertIsNone(addition(replace(dispatch, operands=operands)))

    def test_numbers_of_outputs(self) -> None:
        dispatch = _dispatch(_Nodes())
        self.assertTrue(is_per_output(dispatch, _BIAS, 1))
        self.assertTrue(is_per_output(dispatch, 7, 1))
        self.assertFalse(is_per_output(dispatch, _BIAS, 0))
        np.testing.assert_array_equal(per_output(7, 3, multiple=4, factor=-1), [-7, -7, -7, 0])
        np.testing.assert_array_equal(per_output(_BIAS, 4, copies=2), [0, 0, 1, 1, 2, 2, 3, 3])


if __name__ == "__main__":
    unittest.main()
