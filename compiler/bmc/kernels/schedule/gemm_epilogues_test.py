"""Tests all that kernels of products do with their sums."""

from __future__ import annotations

import itertools
import random
import unittest
from dataclasses import replace
from typing import Any

import numpy as np
import products
from kernel_case import KernelCase
from products import FLOAT_SUM, SUM, SUMS, matmul, planes

from bmc.kernels.problem.product import Node, Product
from bmc.kernels.schedule import gemm
from bmc.kernels.tree.assembly import TooManyRegisters
from bmc.kernels.unsupported import Unsupported

_NAN = float("nan")
Array = np.ndarray[Any, Any]


class EpiloguesTest(KernelCase):
    def test_limits_of_a_residual(self) -> None:
        """The limits need v0 for a mask, which the residual was loaded into."""
        nodes = (
            FLOAT_SUM,
            Node("load", "f32", operand=3),
            Node("load", "f32", operand=4),
            Node("addf", "f32", (0, 2)),
            Node("addf", "f32", (1, 3)),
            Node("constant", "f32", value=6),
            Node("minimumf", "f32", (4, 5)),
            Node("constant", "f32", value=0),
            Node("maximumf", "f32", (6, 7)),
        )
        self.agrees(matmul(64, 64, 24, "f32", nodes, ("residual f32", "f32")), ((256, 256),))

    def test_every_operation(self) -> None:
        """Each with constants on both sides, small and large, and with another vector."""
        integers = ("addi", "subi", "muli", "mulhi", "maxsi", "minsi", "andi", "ori", "xori")
        tested = set()
        for op in (
            *integers,
            "shli",
            "shrsi",
            "shrui",
            "addf",
            "subf",
            "mulf",
            "divf",
            "maximumf",
            "minimumf",
            "maxnumf",
            "minnumf",
        ):
            is_float = op.endswith("f")
            dtype = "f32" if is_float else "i32"
            base = FLOAT_SUM if is_float else SUM
            for value, args in itertools.product((0, 7, 31, -3, 70_000), ((0, 1), (1, 0))):
                if op.startswith("sh") and not 0 <= value < 32:
                    continue
                nodes = (base, Node("constant", dtype, value=value), Node(op, dtype, args))
                try:
                    self.agrees(matmul(2, 8, 3, "f32" if is_float else "i8", nodes), ((128, 128),))
                    tested.add((op, args))
                except Unsupported:
                    continue
            self.assertIn((op, (0, 1)), tested)
            if not op.startswith("sh"):
                nodes = (base, Node("load", dtype, operand=3), Node(op, dtype, (1, 0)))
                product = matmul(3, 24, 3, "f32" if is_float else "i8", nodes, (dtype,))
                self.agrees(product, ((128, 128),))
        casts = (
            SUM,
            Node("sitofp", "f32", (0,)),
            Node("constant", "f32", value=0.37),
            Node("mulf", "f32", (1, 2)),
            Node("negf", "f32", (3,)),
            Node("fptosi", "i32", (4,)),
            Node("bitcast", "f32", (4,)),
            Node("bitcast", "i32", (6,)),
            Node("xori", "i32", (5, 7)),
        )
        self.agrees(matmul(3, 24, 3, "i8", casts))

    def test_products_that_are_added(self) -> None:
        """Rounded once, into the group of either operand or of neither."""
        half = Node("constant", "f32", value=0.5 + 2.0**-20)
        load = Node("load", "f32", operand=3)
        ends = {
            "into z": (Node("fma", "f32", (0, 1, 2)), Node("mulf", "f32", (3, 0))),
            "into x": (Node("fma", "f32", (0, 1, 2)), Node("mulf", "f32", (3, 2))),
            "into neither": (
                Node("fma", "f32", (1, 0, 2)),
                Node("mulf", "f32", (3, 0)),
                Node("mulf", "f32", (4, 2)),
            ),
        }
        for name, nodes in ends.items():
            with self.subTest(name):
                epilogue = (FLOAT_SUM, half, load, *nodes)
                self.agrees(matmul(3, 24, 3, "f32", epilogue, ("f32",)), ((128, 128),))
        both = (FLOAT_SUM, load, Node("fma", "f32", (0, 1, 0)))
        with self.assertRaisesRegex(Unsupported, "fma"):
            gemm.write(matmul(3, 24, 3, "f32", both, ("f32",)), 128)

    def test_more_floats_than_registers(self) -> None:
        """Some of them stay in registers, among them two zeros."""
        values = [-0.0, 0.0, *range(1, 40)]
        nodes = [FLOAT_SUM]
        for number, value in enumerate([*values, *values]):
            nodes.append(Node("constant", "f32", value=value))
            nodes.append(
                Node("subf" if number % 2 else "addf", "f32", (2 * number, 2 * number + 1))
            )
        for sign in (0.0, -0.0):
            last = len(nodes) - 1
            zero = Node("constant", "f32", value=sign)
            one = Node("constant", "f32", value=1.0)
            ends = (
                Node("mulf", "f32", (last, last + 1)),
                Node("divf", "f32", (last + 2, last + 3)),
            )
            shared = (*nodes, zero, ends[0], one, replace(ends[1], args=(last + 3, last + 2)))
            product = matmul(3, 40, 5, "f32", shared)
            data = products.operands(product)
            with np.errstate(all="ignore"):
                right = products.expected(product, data)
            result, _ = self.run_kernel(gemm.write(product, 128), data, 128)
            self.assertTrue(np.isinf(right).any())
            np.testing.assert_array_equal(result, right)

    def test_random_epilogues(self) -> None:
        """Values that live long, in any order, with every register in use."""
        generator = random.Random(3)
        written = 0
        for number in range(60):
            product = _random(generator)
            try:
                gemm.write(product, 128)
            except (Unsupported, TooManyRegisters):
                continue
            written += 1
            with self.subTest(number=number, nodes=product.epilogue):
                self.agrees(product, ((128, 128),))
        self.assertGreater(written, 40)

    def test_nan_stays_nan(self) -> None:
        for op in ("maximumf", "minimumf"):
            nodes = (FLOAT_SUM, Node("constant", "f32", value=0.0), Node(op, "f32", (0, 1)))
            product = matmul(2, 16, 4, "f32", nodes)
            data = products.operands(product)
            data[1][3] = _NAN
            result, _ = self.run_kernel(gemm.write(product, 128), data, 128)
            right = products.expected(product, data)
            self.assertEqual(int(np.isnan(right).sum()), 2)
            np.testing.assert_array_equal(result, right)

    def test_nan_of_either_tensor_stays_nan(self) -> None:
        load = Node("load", "f32", operand=3)
        one, other = Node("addf", "f32", (2, 0)), Node("addf", "f32", (2, 1))
        both = (one, Node("addf", "f32", (3, 1)))
        # Into the group of either operand, or of neither.
        for more in ((), (one,), (other,), both):
            for op, args in itertools.product(("maximumf", "minimumf"), ((0, 1), (1, 0))):
                nodes = (FLOAT_SUM, load, Node(op, "f32", args), *more)
                product = matmul(2, 16, 4, "f32", nodes, ("residual f32",))
                data = products.operands(product)
                data[1][3] = data[3][5] = _NAN
                result, _ = self.run_kernel(gemm.write(product, 128), data, 128)
                right = products.expected(product, data)
                self.assertEqual(int(np.isnan(right).sum()), 3)
                np.testing.assert_array_equal(result, right)

    def test_slopes(self) -> None:
        """Of channels that are lanes or rows, of all channels, and in each type that sums become."""
        for op, order in itertools.product(("if_positive", "if_negative"), ((0, 1), (1, 0))):
            for dtype, before in (("f32", ()), ("f16", ()), ("i8", (Node("sitofp", "f32", (0,)),))):
                value = "f16" if dtype == "f16" else "f32"
                nodes = (Node("sum", SUMS[dtype].dtype), *before)
                x = len(nodes) - 1
                chosen = [(x, x + 2)[each] for each in order]
                ends = (Node("mulf", value, (x + 1, x)), Node(op, value, (x, *chosen)))
                for slope, extra in (
                    (Node("load", value, operand=3), (value,)),
                    (Node("load", value, operand=3), (f"residual {value}",)),
                    (Node("constant", value, value=-0.25), ()),
                ):
                    for rows, lanes in ((1, 8), (3, 24), (17, 100)):
                        with self.subTest(op=op, order=order, dtype=dtype, extra=extra, rows=rows):
                            epilogue = (*nodes, slope, *ends)
                            self.agrees(matmul(rows, lanes, 5, dtype, epilogue, extra))
            product = planes(40, 16, 3)
            channel = Node("scalar", "f32", operand=5)
            rest = (channel, Node("mulf", "f32", (2, 3)))
            chosen = [(2, 4)[each] for each in order]
            nodes = (*product.epilogue[:3], *rest, Node(op, "f32", (2, *chosen)))
            self.agrees(replace(product, epilogue=nodes))

    def test_slopes_of_zeros_and_nan(self) -> None:
        """Every bit is what the choice gives, but for NaN, of which each sign stays a NaN."""
        values = [0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, np.inf, -np.inf, _NAN, -_NAN]
        slopes = [0.25, -0.25, 0.0, -0.0, np.inf, -np.inf, _NAN]
        x, slope = np.meshgrid(np.array(values, np.float32), np.array(slopes, np.float32))
        for op, args in (("if_positive", (3, 3, 4)), ("if_negative", (3, 4, 3))):
            nodes = (
                FLOAT_SUM,
                Node("load", "f32", operand=3),
                Node("load", "f32", operand=4),
                Node("mulf", "f32", (0, 1)),
                Node("mulf", "f32", (3, 2)),
                Node(op, "f32", args),
            )
            product = matmul(2, x.size, 1, "f32", nodes, ("f32", "f32"))
            ones = [np.ones_like(each) for each in products.operands(product)[:3]]
            data = [*ones, x.reshape(-1), slope.reshape(-1)]
            with np.errstate(all="ignore"):
                keeps = x > 0 if op == "if_positive" else ~(x < 0)
                want = np.tile(np.where(keeps, x, x * slope).reshape(-1), 2)
            for vlen, hart in ((128, 128), (256, 256), (128, 512)):
                with np.errstate(all="ignore"):
                    result, _ = self.run_kernel(gemm.write(product, vlen), data, hart)
                np.testing.assert_array_equal(result, want)
                known = ~np.isnan(want)
                np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(want[known]))

    def test_a_slope_costs_few_instructions(self) -> None:
        """Slopes are loaded once for all rows, and a zero is in no register."""
        nodes = (FLOAT_SUM, Node("load", "f32", operand=3), Node("mulf", "f32", (0, 1)))
        bare = gemm.write(matmul(6, 16, 9), 256).executed
        for op, args, lines in (("if_positive", (0, 0, 2), 3), ("if_negative", (0, 2, 0), 4)):
            product = matmul(6, 16, 9, "f32", (*nodes, Node(op, "f32", args)), ("f32",))
            # The load. Nothing reads its address afterwards.
            self.assertEqual(gemm.write(product, 256).executed, bare + 6 * lines + 1)


def _random(generator: random.Random) -> Product:
    """A product whose epilogue is a random graph of loads and operations, all of which the last one reads."""
    is_float = generator.random() < 0.6
    dtype = "f32" if is_float else "i32"
    loads = generator.randint(1, 4)
    nodes = [FLOAT_SUM if is_float else SUM]
    unread = [0]
    extra = []
    for number in range(loads):
        narrow = not is_float and generator.random() < 0.5
        extra.append(f"residual {'i8' if narrow else dtype}")
        nodes.append(Node("load", extra[-1].split()[1], operand=3 + number))
        if narrow:
            nodes.append(Node("extsi", "i32", (len(nodes) - 1,)))
        unread.append(len(nodes) - 1)
    while len(unread) > 1 or len(nodes) < 2 * loads + 6:
        op = generator.choice(
            ("maximumf", "addf", "subf") if is_float else ("maxsi", "addi", "muli")
        )
        first = generator.choice(unread)
        if op.startswith("max"):
            nodes.append(Node("constant", dtype, value=generator.randint(-9, 9)))
            args = (first, len(nodes) - 1)
        else:
            others = unread if generator.random() < 0.6 else range(len(nodes))
            second = generator.choice(
                [n for n in others if nodes[n].dtype == dtype and nodes[n].op != "constant"]
            )
            args = (first, second)
        nodes.append(Node(op, dtype, args))
        unread = [n for n in unread if n not in args] + [len(nodes) - 1]
    rows = generator.choice((1, 2, 7))
    lanes = generator.choice((8, 16, 40, 64))
    return matmul(rows, lanes, 2, "f32" if is_float else "i8", tuple(nodes), tuple(extra))


if __name__ == "__main__":
    unittest.main()
