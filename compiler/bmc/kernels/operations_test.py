"""Tests what scalar operations become as nodes: limits, and integers of 16 bits."""

from __future__ import annotations

import unittest

import numpy as np
import products
from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.operations import Operations
from bmc.kernels.product import Node, Unsupported, needed

_FLOATS = np.array([-np.inf, -7, -1.5, -1, 0, 0.5, 2, 3, 5, 6, 9, np.inf, np.nan], np.float32)
_INTEGERS = np.array([*range(-700, 700), 2**31 - 1, -(2**31), 70_001], np.int32)
_COMPARED = {
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}


def _nodes(body: str, dtype: str = "f32") -> tuple[Node, ...]:
    """Reads operations that compute %r from %a, which are the sums, and %b."""
    text = f"func.func @f(%a: {dtype}, %b: {dtype}) -> {dtype} {{\n{body}\nreturn %r : {dtype}\n}}"
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (function,) = ir_util.all_of(module, "func.func")
        block = function.regions[0].blocks[0]
        operations = Operations()
        known = {
            block.arguments[0]: operations.node(Node("sum", dtype)),
            block.arguments[1]: operations.node(Node("load", dtype, operand=3)),
        }
        *each, end = [op.operation for op in block.operations]
        for op in each:
            operations.add(op, known)
        last = operations.value(end.operands[0], known)
    return needed(operations.nodes[: last + 1])


def _evaluated(nodes: tuple[Node, ...], values: products.Array) -> products.Array:
    with np.errstate(all="ignore"):
        return products.evaluated(nodes, values, lambda _: values)


class OperationsTest(unittest.TestCase):
    def declines(self, reason: str, body: str, dtype: str = "f32") -> None:
        with self.assertRaisesRegex(Unsupported, reason):
            _nodes(body, dtype)

    def test_comparisons_with_a_constant_are_limits(self) -> None:
        """As PyTorch's ReLU is, which leaves a NaN alone."""
        limit = np.float32(-1.5)
        for kind in "ou":
            for name, holds in _COMPARED.items():
                for order in ("%a, %c", "%c, %a"):
                    body = f"""%c = arith.constant -1.5 : f32
    %is = arith.cmpf {kind}{name}, %a, %c : f32
    %r = arith.select %is, {order} : f32"""
                    chosen = holds(_FLOATS, limit) | (np.isnan(_FLOATS) & (kind == "u"))
                    want = np.where(chosen == (order == "%a, %c"), _FLOATS, limit)
                    nodes = _nodes(body)
                    self.assertEqual(len(nodes), 3)
                    np.testing.assert_array_equal(_evaluated(nodes, _FLOATS), want, body)

    def test_a_constant_may_come_first(self) -> None:
        """As in PyTorch's ReLU6."""
        for predicate, order in (("olt", "%c, %a"), ("ugt", "%a, %c")):
            body = f"""%c = arith.constant 3.0 : f32
    %is = arith.cmpf {predicate}, %c, %a : f32
    %r = arith.select %is, {order} : f32"""
            want = np.where(_FLOATS > 3, np.float32(3), _FLOATS)
            np.testing.assert_array_equal(_evaluated(_nodes(body), _FLOATS), want)

    def test_other_choices(self) -> None:
        for predicate, left, yes in (
            ("oeq", "%a", "%a"),
            ("ugt", "%a", "%b"),
            ("ugt", "%b", "%a"),
        ):
            body = f"""%c = arith.constant 0.0 : f32
    %is = arith.cmpf {predicate}, {left}, %c : f32
    %r = arith.select %is, {yes}, %c : f32"""
            self.declines("an epilogue with arith.select to f32", body)
        either = "%is = arith.cmpf olt, %a, %b : f32\n %r = arith.select %is, %a, %b : f32"
        self.declines("an epilogue with arith.select to f32", either)

    def test_a_limit_before_a_stricter_one_is_nothing(self) -> None:
        body = """%zero = arith.constant 0.0 : f32
    %most = arith.constant {high}.0 : f32
    %low = arith.constant {low}.0 : f32
    %end = arith.constant 5.0 : f32
    %above = arith.cmpf ugt, %a, %zero : f32
    %positive = arith.select %above, %a, %zero : f32
    %below = arith.cmpf ult, %positive, %most : f32
    %limited = arith.select %below, %positive, %most : f32
    %max = arith.maxnumf %limited, %low : f32
    %r = arith.minnumf %max, %end : f32"""
        for low, high, gone in ((0, 6, 2), (2, 6, 2), (-1, 6, 1), (0, 4, 1), (3, 2, 0)):
            with self.subTest(low=low, high=high):
                nodes = _nodes(body.format(low=low, high=high))
                self.assertEqual(len([node for node in nodes if node.args]), 4 - gone)
                want = np.minimum(np.fmax(np.clip(_FLOATS, 0, high), low), 5).astype(np.float32)
                np.testing.assert_array_equal(_evaluated(nodes, _FLOATS), want)

    def test_a_nan_becomes_the_first_limit_that_replaces_it(self) -> None:
        body = """%zero = arith.constant 0.0 : f32
    %six = arith.constant 6.0 : f32
    %low = arith.constant 1.0 : f32
    %positive = arith.maxnumf %a, %zero : f32
    %below = arith.minnumf %positive, %six : f32
    %r = arith.maxnumf %below, %low : f32"""
        want = np.maximum(np.minimum(np.fmax(_FLOATS, 0), 6), 1).astype(np.float32)
        np.testing.assert_array_equal(_evaluated(_nodes(body), _FLOATS), want)
        # Without the first one, it would be 6.
        self.assertEqual(want[-1], 1)

    def test_integers_of_16_bits(self) -> None:
        """As PyTorch subtracts a zero point."""
        body = """%n = arith.trunci %a : i32 to i8
    %short = arith.extsi %n : i8 to i16
    %z = arith.constant {z} : i16
    %s = arith.{op} %short, %z : i16
    %f = arith.sitofp %s : i16 to f32
    %r = arith.fptosi %f : f32 to i32"""
        nodes = _nodes(body.format(z=-128, op="subi"), "i32")
        want = _INTEGERS.astype(np.int8).astype(np.int32) + 128
        np.testing.assert_array_equal(_evaluated(nodes, _INTEGERS), want)
        for wrong in (("subi", -32760), ("addi", 32760), ("muli", 3)):
            text = body.format(op=wrong[0], z=wrong[1])
            self.declines(f"an epilogue with arith.{wrong[0]} to i16", text, "i32")


if __name__ == "__main__":
    unittest.main()
