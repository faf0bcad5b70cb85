"""Tests which scalar operations become nodes, and what these compute."""

from __future__ import annotations

import itertools
import unittest

import numpy as np
import products
from iree.compiler import ir
from read_case import (
    BYTES,
    FLOAT,
    HIGH,
    NARROW,
    QUANTIZED,
    SIGNED,
    SOME,
    ReadCase,
    followed,
    stored,
)

from bmc.ir import ir_util
from bmc.kernels.problem.product import RESULT, Loop, Node
from bmc.kernels.problem.roles import needed
from bmc.kernels.read.body import Operations
from bmc.kernels.unsupported import Unsupported

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
        operations = Operations(lambda _: 4)
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
        return products.evaluated(nodes, values, lambda _: values)[RESULT]


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

    def test_slopes(self) -> None:
        """As torch-mlir (ogt), TensorFlow Lite (oge), and ONNX (olt) write a PReLU, and all others."""
        slopes = np.array([-0.5, 0.25, np.inf], np.float32)[:, np.newaxis]
        kinds = itertools.product("ou", _COMPARED.items(), ("%a, %s", "%s, %a"), (False, True))
        for kind, (name, holds), order, is_left in kinds:
            zero = "%zero, %a" if is_left else "%a, %zero"
            body = f"""%zero = arith.constant 0.0 : f32
    %s = arith.mulf %b, %a : f32
    %is = arith.cmpf {kind}{name}, {zero} : f32
    %r = arith.select %is, {order} : f32"""
            nodes = _nodes(body)
            # No constant is left.
            self.assertEqual([node.op for node in nodes][:-1], ["sum", "load", "mulf"])
            x = np.append(_FLOATS, np.array([-0.0, -np.nan], np.float32))
            with self.subTest(body), np.errstate(all="ignore"):
                is_ = holds(0, x) if is_left else holds(x, 0)
                want = np.where(is_ == (order == "%a, %s"), x, x * slopes)
                got = products.evaluated(nodes, np.tile(x, (3, 1)), lambda _: slopes)[RESULT]
                np.testing.assert_array_equal(got, want)
                known = ~np.isnan(want)
                np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(want[known]))

    def test_other_slopes(self) -> None:
        """Limits that are not 0, and choices that a NaN does not make NaN."""
        for limit, value, yes in (
            ("1.0", "arith.mulf %a, %b", "%a"),
            ("0.0", "arith.mulf %b, %b", "%a"),
            ("0.0", "arith.addf %a, %b", "%a"),
            ("0.0", "arith.mulf %a, %b", "%b"),
        ):
            body = f"""%c = arith.constant {limit} : f32
    %s = {value} : f32
    %is = arith.cmpf ogt, %a, %c : f32
    %r = arith.select %is, {yes}, %s : f32"""
            self.declines("an epilogue with arith.select to f32", body)

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


class EpiloguesTest(ReadCase):
    def test_lookups(self) -> None:
        """The index is what TensorFlow Lite's is: a byte plus 128."""
        body = """%n = arith.trunci %a : i32 to i8
    %i = arith.index_cast %n : i8 to index
    %c128 = arith.constant 128 : index
    %place = arith.addi %i, %c128 : index
    %r = tensor.extract %table[%place] : tensor<256xi8>"""
        text = SIGNED + followed(body, "i32", BYTES, "qbias") + stored("result", "qy")
        product = self.read(text)
        self.assertEqual(product.dtypes, ("i8", "i8", "i8", "i8"))
        self.assertEqual(product.lanes, Loop(64, (0, 1, 1, 0)))
        self.assertEqual(product.epilogue[-1].op, "lookup")
        self.assertEqual(product.epilogue[-1].operand, 3)
        for old, new in (
            ("constant 128", "constant 129"),
            ("constant 128", "constant 127"),
            ("%n : i8", "%a : i32"),
            ("%table[%place] : tensor<256", "%short[%place] : tensor<255"),
        ):
            with self.subTest(new=new):
                self.declines("out of range|to index", text.replace(old, new))
        self.declines("to index", text.replace("addi %i", "muli %i"))

    def test_operations(self) -> None:
        body = "%r = math.log %a : f32"
        self.declines("an epilogue with math", FLOAT + followed(body) + stored("result"))
        select = "%c = arith.cmpf olt, %a, %b : f32\n %r = arith.select %c, %a, %b : f32"
        self.declines("an epilogue with arith.select", FLOAT + followed(select) + stored("result"))
        old = "%r = arith.addf %a, %old : f32"
        self.declines("an epilogue with a f32", FLOAT + followed(old) + stored("result"))

    def test_integers(self) -> None:
        def declines(reason: str, body: str, sums: str = SIGNED) -> None:
            text = sums + followed(body, "i32", BYTES, "qbias")
            self.declines(reason, text + stored("result", "qy"))

        narrow = "%r = arith.trunci %a : i32 to i8"
        declines("a product of i8", narrow, QUANTIZED.format(cast="cast_unsigned"))
        # Arithmetic with 64 bits, except for the high half of a product.
        declines("an epilogue with", HIGH.format(shift=31))
        declines("an epilogue with", HIGH.format(shift=32).replace("muli", "addi"))
        unsigned = HIGH.format(shift=32).replace("arith.extsi", "arith.extui")
        declines("an epilogue with", unsigned)
        declines(
            "an epilogue with arith.shrui to i8",
            "%n = arith.trunci %a : i32 to i8\n %r = arith.shrui %n, %n : i8",
        )

    def integers(self, body: str) -> products.Array:
        """Computes an epilogue on some sums, and a bias of 3."""
        text = SIGNED + followed(body, "i32", BYTES, "qbias") + stored("result", "qy")
        nodes = self.read(text).epilogue
        with np.errstate(all="ignore"):
            result = products.evaluated(nodes, SOME, lambda _: np.full_like(SOME, 3))[RESULT]
        return result.astype(np.int8)

    def test_bytes_wrap_around(self) -> None:
        narrow = "%n = arith.trunci %a : i32 to i8\n %c = arith.constant -100 : i8\n"
        n, c = SOME.astype(np.int8), np.int8(-100)
        right = {"addi": n + c, "subi": n - c, "muli": n * c, "andi": n & c, "xori": n ^ c}
        right |= {"ori": n | c, "maxsi": np.maximum(n, c), "minsi": np.minimum(n, c)}
        for op, values in right.items():
            with self.subTest(op=op):
                one = f"{narrow} %one = arith.{op} %n, %c : i8\n"
                got = self.integers(one + "%r = arith.maxsi %one, %n : i8")
                np.testing.assert_array_equal(got, np.maximum(values, n))
        shifted = "%c1 = arith.constant 1 : i8\n %s = arith.shli %n, %c1 : i8\n"
        got = self.integers(narrow + shifted + "%r = arith.shrsi %s, %c1 : i8")
        np.testing.assert_array_equal(got, n << np.int8(1) >> np.int8(1))

    def test_truncated_numbers_have_the_sign_of_their_last_byte(self) -> None:
        narrow = "%n = arith.trunci %a : i32 to i8\n %wide = arith.extsi %n : i8 to i32\n"
        sums = "%s = arith.addi %wide, %b : i32\n %c5 = arith.constant 5 : i32\n"
        got = self.integers(narrow + sums + "%h = arith.shrsi %s, %c5 : i32\n" + NARROW)
        np.testing.assert_array_equal(got, (SOME.astype(np.int8).astype(np.int32) + 3) >> 5)

    def test_sums_and_differences_that_fit_an_int8_are_not_narrowed(self) -> None:
        """Two numbers with limits, of which one grows as the other one falls in a difference."""
        p = np.clip(SOME, -100, 100)
        for op, sign, low, high, fits in (
            ("subi", -1, -27, 28, True),
            ("subi", -1, -28, 28, False),
            ("subi", -1, -27, 29, False),
            ("subi", -1, -100, 100, False),
            ("addi", 1, -28, 27, True),
            ("addi", 1, -29, 27, False),
            ("addi", 1, -28, 28, False),
        ):
            body = f"""%least = arith.constant -100 : i32
    %most = arith.constant 100 : i32
    %above = arith.maxsi %a, %least : i32
    %p = arith.minsi %above, %most : i32
    %low = arith.constant {low} : i32
    %high = arith.constant {high} : i32
    %sign = arith.constant {sign} : i32
    %other = arith.muli %a, %sign : i32
    %over = arith.maxsi %other, %low : i32
    %q = arith.minsi %over, %high : i32
    %s = arith.{op} %p, %q : i32
    %n = arith.trunci %s : i32 to i8
    %wide = arith.extsi %n : i8 to i32
    %c1 = arith.constant 1 : i32
    %h = arith.shrsi %wide, %c1 : i32
    {NARROW}"""
            with self.subTest(op=op, low=low, high=high), np.errstate(all="ignore"):
                q = np.clip(SOME * np.int32(sign), low, high)
                right = (p - q if op == "subi" else p + q).astype(np.int8) >> 1
                np.testing.assert_array_equal(self.integers(body), right)
                text = SIGNED + followed(body, "i32", BYTES, "qbias") + stored("result", "qy")
                narrows = "shli" in [node.op for node in self.read(text).epilogue]
                self.assertEqual(narrows, not fits)

    def test_a_rounding_that_only_positive_numbers_carry_into_the_upper_half(self) -> None:
        """TOSA's double rounding before a shift by 33."""
        body = """%wide = arith.extsi %a : i32 to i64
    %m = arith.constant 1500000000 : i64
    %product = arith.muli %wide, %m : i64
    %none = arith.constant 0 : i32
    %is = arith.cmpi sge, %a, %none : i32
    %p = arith.constant 5368709120 : i64
    %n = arith.constant 3221225472 : i64
    %added = arith.select %is, %p, %n : i64
    %sum = arith.addi %product, %added : i64
    %s = arith.constant 33 : i64
    %high = arith.shrsi %sum, %s : i64
    %h = arith.trunci %high : i64 to i32
    """
        added = np.where(SOME >= 0, 2**32 + 2**30, 2**32 - 2**30)
        right = (SOME.astype(np.int64) * 1500000000 + added) >> 33
        np.testing.assert_array_equal(self.integers(body + NARROW), right.astype(np.int8))

    def test_only_half_of_the_power_that_divides_rounds(self) -> None:
        for power, right in (
            ("%h0 = arith.shli %c1, %b : i32\n %half = arith.shrui %h0, %c1 : i32", 4),
            ("%h0 = arith.shli %c2, %b : i32\n %half = arith.shrui %h0, %c1 : i32", 8),
            ("%h0 = arith.shli %c1, %b : i32\n %half = arith.shrui %h0, %c2 : i32", 2),
            ("%h0 = arith.shli %c1, %c2 : i32\n %half = arith.shrui %h0, %c1 : i32", 2),
            ("%half = arith.shli %c1, %b : i32", 8),
            ("%half = arith.addi %b, %c2 : i32", 5),
        ):
            body = f"""%c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    {power}
    %c5 = arith.constant 5 : i32
    %small = arith.shrsi %a, %c5 : i32
    %sum = arith.addi %small, %half overflow<nsw> : i32
    %h = arith.shrsi %sum, %b : i32
    {NARROW}"""
            # The bias, by which it is divided, is 3.
            with self.subTest(power):
                want = ((SOME >> 5) + right >> 3).astype(np.int8)
                np.testing.assert_array_equal(self.integers(body), want)

    def test_floats_are_quantized(self) -> None:
        """As PyTorch does: the last bits of a large float are an integer."""
        body = """%f = arith.sitofp %a : i32 to f32
    %low = arith.constant -7.0 : f32
    %high = arith.constant 248.0 : f32
    %large = arith.constant 12582912.0 : f32
    %offset = arith.constant -121 : i8
    %max = arith.maxnumf %f, %low : f32
    %min = arith.minnumf %max, %high : f32
    %rounded = arith.addf %min, %large : f32
    %bits = arith.bitcast %rounded : f32 to i32
    %n = arith.trunci %bits : i32 to i8
    %r = arith.addi %n, %offset : i8"""
        right = (np.clip(SOME, -7, 248) - 121).astype(np.int8)
        self.assertGreater(len(set(right.tolist())), 100)
        np.testing.assert_array_equal(self.integers(body), right)

    def test_an_int8_within_its_limits_is_not_narrowed(self) -> None:
        def body(low: int, high: int) -> str:
            return f"""%low = arith.constant {low} : i32
    %high = arith.constant {high} : i32
    %max = arith.maxsi %a, %low : i32
    %min = arith.minsi %max, %high : i32
    %n = arith.trunci %min : i32 to i8
    %wide = arith.extsi %n : i8 to i32
    %sum = arith.addi %wide, %b : i32
    %r = arith.trunci %sum : i32 to i8"""

        def text(low: int, high: int) -> str:
            epilogue = followed(body(low, high), "i32", BYTES, "qbias")
            return SIGNED + epilogue + stored("result", "qy")

        # A limit of the int8 itself is one of the value before.
        limited = text(-128, 127).replace(
            "%wide = arith.extsi %n",
            "%c9 = arith.constant 9 : i8\n %l = arith.maxsi %n, %c9 : i8\n %wide = arith.extsi %l",
        )
        ops = [(node.op, node.dtype) for node in self.read(limited).epilogue]
        self.assertEqual(ops.count(("maxsi", "i32")), 2)
        self.assertNotIn(("maxsi", "i8"), ops)
        ops = [(node.op, node.dtype) for node in self.read(text(-128, 127)).epilogue]
        self.assertFalse({("extsi", "i32"), ("shli", "i32")} & set(ops))
        for low, high in ((-128, 128), (-300, -200), (-100, -200), (200, 300)):
            with self.subTest(low=low, high=high):
                self.assertIn("shli", [node.op for node in self.read(text(low, high)).epilogue])


if __name__ == "__main__":
    unittest.main()
