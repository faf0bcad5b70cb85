"""Runs kernels of bmc's own on a model of a hart, and compares their results with numpy's."""

from __future__ import annotations

import collections
import contextlib
import itertools
import random
import re
import unittest
from dataclasses import replace
from typing import Any

import numpy as np
import products
import riscv
from kernel_case import KernelCase
from products import FLOAT_SUM, SUM, convolution, matmul, planes

from bmc.kernels import nest
from bmc.kernels.assembly import TooManyRegisters
from bmc.kernels.product import RESULT, WIDTHS, Loop, Node, Product, Unsupported, needed

_NAN = float("nan")
Array = np.ndarray[Any, Any]


def quantized() -> tuple[Node, ...]:
    """A rescale as TFLite makes it: a bias, a multiplier per lane, a shift, a zero point and limits."""
    return (
        SUM,
        Node("constant", "i32", value=6),
        Node("shli", "i32", (0, 1)),
        Node("load", "i32", operand=3),
        Node("addi", "i32", (2, 3)),
        Node("load", "i32", operand=4),
        Node("mulhi", "i32", (4, 5)),
        Node("constant", "i32", value=3),
        Node("shrsi", "i32", (6, 7)),
        Node("constant", "i32", value=-10),
        Node("addi", "i32", (8, 9)),
        Node("constant", "i32", value=-128),
        Node("maxsi", "i32", (10, 11)),
        Node("constant", "i32", value=127),
        Node("minsi", "i32", (12, 13)),
        Node("trunci", "i8", (14,)),
    )


class NestTest(KernelCase):
    def test_rows_and_lanes(self) -> None:
        lanes = (8, 16, 24, 40, 64, 80, 100)
        for number, (rows, each) in enumerate(itertools.product((1, 2, 5, 7, 13), lanes)):
            hart = ((128, 128), (256, 256), (128, 512))[number % 3]
            for dtype in ("f32", "i8"):
                with self.subTest(rows=rows, lanes=each, dtype=dtype):
                    self.agrees(matmul(rows, each, 3 + number % 4, dtype), (hart,))

    def test_pixels_as_lanes(self) -> None:
        for dtype in ("f32", "i8"):
            for size, rows, channels, gap in ((8, 3, 2, 1), (40, 16, 3, 1), (24, 9, 3, 3)):
                with self.subTest(dtype=dtype, size=size, gap=gap):
                    self.agrees(planes(size, rows, channels, dtype, gap), ((128, 128), (256, 512)))

    def test_results_in_columns(self) -> None:
        """A product that is stored as its transpose."""
        for dtype, nodes, extra in (
            ("f32", (FLOAT_SUM,), ()),
            ("i8", quantized(), ("i32", "i32")),
        ):
            product = matmul(5, 40, 9, dtype, nodes, extra)
            (rows,) = product.rows
            width = WIDTHS[product.dtypes[RESULT]]

            def stored(loop: Loop, step: int) -> Loop:
                return replace(loop, strides=(*loop.strides[:RESULT], step, *loop.strides[3:]))

            turned = replace(
                product, rows=(stored(rows, width),), lanes=stored(product.lanes, 5 * width)
            )
            with self.subTest(dtype=dtype):
                self.agrees(turned)

    def test_scalars(self) -> None:
        """An operation of two scalars, and a scalar that is read twice."""
        for dtype, ops in (("f32", ("subf", "mulf", "addf")), ("i8", ("subi", "muli", "addi"))):
            product = planes(8, 3, 2, dtype)
            sum_ = product.dtypes[2]
            nodes = (
                *product.epilogue[:2],
                Node("scalar", product.dtypes[5], operand=5),
                Node(ops[0], sum_, (1, 2)),
                Node(ops[1], sum_, (3, 0)),
                Node(ops[2], sum_, (4, 1)),
                Node(ops[0], sum_, (2, 5)),
            )
            self.agrees(replace(product, epilogue=nodes), ((128, 128),))

    def test_carries(self) -> None:
        """(x * 0x6000_0001 + 0x9000_0000) >> 32, in 32 bits."""
        nodes = (
            SUM,
            Node("constant", "i32", value=17),
            Node("shli", "i32", (0, 1)),
            Node("constant", "i32", value=0x6000_0001),
            Node("mulhi", "i32", (2, 3)),
            Node("muli", "i32", (2, 3)),
            Node("constant", "i32", value=0x9000_0000 - 2**32),
            Node("addi", "i32", (5, 6)),
            Node("carried", "i32", (4, 7, 5)),
        )
        for rows, lanes in ((1, 8), (5, 40)):
            product = matmul(rows, lanes, 9, "i8", nodes)
            self.agrees(product)
            data = products.operands(product)
            sums = products.expected(replace(product, epilogue=nodes[:3]), data).astype(np.int64)
            wide = (sums * 0x6000_0001 + 0x9000_0000) >> 32
            np.testing.assert_array_equal(products.expected(product, data), wide)
            # Half of them carry.
            self.assertGreater(int((wide != sums * 0x6000_0001 >> 32).sum()), lanes // 4)

    def test_sums_wait_in_memory(self) -> None:
        """An epilogue that needs most registers, of rows and lanes that no block and no piece divides."""
        nodes = [FLOAT_SUM]
        for power in range(5):
            # Values that all live until the end.
            nodes.append(Node("mulf", "f32", (power, 0)))
        for power in range(1, 6):
            nodes.append(Node("addf", "f32", (len(nodes) - 1, power)))
        nodes.append(Node("load", "f32", operand=3))
        nodes.append(Node("addf", "f32", (len(nodes) - 2, len(nodes) - 1)))
        for rows, lanes in ((1, 8), (4, 64), (7, 72), (5, 100)):
            with self.subTest(rows=rows, lanes=lanes):
                product = matmul(rows, lanes, 2, "f32", tuple(nodes), ("residual f32",))
                self.agrees(product)
        kernel = nest.write(product, 128)
        self.assertGreater(kernel.scratch, 0)
        self.assertEqual(len(kernel.arguments), 5)
        self.assertEqual(nest.write(matmul(5, 100, 2), 128).scratch, 0)

    def test_the_cost_is_about_what_is_executed(self) -> None:
        for product in (
            matmul(16, 64, 200),
            convolution(8, 24, 16),
            convolution(8, 64, 1, "i8", depthwise=True),
            planes(40, 16, 8),
        ):
            kernel = nest.write(product, 256)
            _, machine = self.run_kernel(kernel, products.operands(product), 256)
            self.assertAlmostEqual(nest.cost(product, 256, 10) / machine.executed, 1, delta=0.25)

    def test_outer_loops_and_a_sum_for_all_rows(self) -> None:
        for dtype in ("f32", "i8"):
            inner = matmul(3, 16, 5, dtype)
            width = WIDTHS[dtype]
            outer = (
                Loop(2, (3 * 15 * width, 3 * 80 * width, 3 * 48 * 4)),
                Loop(3, (15 * width, 80 * width, 48 * 4)),
            )
            self.agrees(replace(inner, outer=outer))
            # Without rows or sums: an outer product.
            self.agrees(replace(inner, outer=outer, rows=(), sums=()))

    def test_initial_values(self) -> None:
        for dtype, initial in (("f32", "f32"), ("i8", "i32")):
            product = matmul(5, 40, 6, dtype, extra=(initial,))
            self.agrees(replace(product, initial=3))

    def test_rescales(self) -> None:
        for rows, lanes in ((1, 8), (5, 24), (13, 100)):
            product = matmul(rows, lanes, 9, "i8", quantized(), ("i32", "i32"))
            self.agrees(product)
            data = products.operands(product)
            # Otherwise the test would say nothing.
            self.assertGreater(len(set(products.expected(product, data).tolist())), 5)

    def test_rescales_with_rounding_instructions(self) -> None:
        """Shifts that are a number, or one for each lane; limits at and within those of an int8."""
        found = set()
        for number, (shift, zero, limits) in enumerate(
            itertools.product((0, 1, 6, None), (0, -10, -128, 300), ((-128, 127), (-5, 100)))
        ):
            values = (6 if shift is None else shift, 15, zero, *limits)
            nodes = (
                SUM,
                Node("load", "i32", operand=3),
                Node("scaled", "i32", (0, 1)),
                *(Node("constant", "i32", value=value) for value in values),
                Node("load", "i32", operand=4),
                Node("andi", "i32", (8, 4)),
                Node("clipped", "i8", (2, 9 if shift is None else 3, 5, 6, 7)),
            )
            rows, lanes = ((1, 8), (5, 24), (7, 40))[number % 3]
            product = matmul(rows, lanes, 9, "i8", needed(list(nodes)), ("i32", "i32"))
            data = products.operands(product)
            data[3] *= 4
            right = products.expected(product, data)
            found |= set(right.tolist())
            for vlen, hart in ((128, 128), (128, 512)):
                result, _ = self.run_kernel(nest.write(product, vlen), data, hart)
                np.testing.assert_array_equal(result, right)
        # Otherwise the test would say nothing.
        self.assertGreater(len(found), 100)

    def test_a_shift_for_each_row(self) -> None:
        product = planes(24, 5, 2, "i8")
        sum_, load, *_ = product.epilogue
        nodes = (
            sum_,
            replace(load, operand=4),
            Node("rounded", "i32", (0, 1)),
            *(Node("constant", "i32", value=value) for value in (3, -128, 127)),
            Node("clipped", "i8", (2, 1, 3, 4, 5)),
        )
        loops = {
            name: replace(
                loop, strides=(*loop.strides[:RESULT], loop.strides[RESULT] // 4, *loop.strides[3:])
            )
            for name, loop in (
                ("outer", product.outer[0]),
                ("rows", product.rows[0]),
                ("lanes", product.lanes),
            )
        }
        product = replace(
            product,
            dtypes=("i8", "i8", "i8", *product.dtypes[3:]),
            outer=(loops["outer"],),
            rows=(loops["rows"],),
            lanes=loops["lanes"],
            epilogue=nodes,
        )
        data = products.operands(product)
        data[3] %= 2**14
        data[4] = 4 + data[4] % 9
        right = products.expected(product, data)
        self.assertGreater(len(set(right.tolist())), 20)
        result, _ = self.run_kernel(nest.write(product, 128), data, 128)
        np.testing.assert_array_equal(result, right)

    def test_residuals_and_limits(self) -> None:
        floats = (
            FLOAT_SUM,
            Node("load", "f32", operand=3),
            Node("addf", "f32", (0, 1)),
            Node("load", "f32", operand=4),
            Node("addf", "f32", (2, 3)),
            Node("constant", "f32", value=-20.0),
            Node("maximumf", "f32", (4, 5)),
            Node("constant", "f32", value=60.0),
            Node("minimumf", "f32", (6, 7)),
        )
        self.agrees(matmul(7, 40, 6, "f32", floats, ("f32", "residual f32")))
        residual = (
            SUM,
            Node("load", "i8", operand=3),
            Node("extsi", "i32", (1,)),
            Node("constant", "i32", value=5000),
            Node("muli", "i32", (2, 3)),
            Node("addi", "i32", (0, 4)),
            Node("constant", "i32", value=12),
            Node("shrsi", "i32", (5, 6)),
            Node("trunci", "i8", (7,)),
        )
        self.agrees(matmul(7, 40, 6, "i8", residual, ("residual i8",)))

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
            nest.write(matmul(3, 24, 3, "f32", both, ("f32",)), 128)

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
            result, _ = self.run_kernel(nest.write(product, 128), data, 128)
            self.assertTrue(np.isinf(right).any())
            np.testing.assert_array_equal(result, right)

    def test_random_epilogues(self) -> None:
        """Values that live long, in any order, with every register in use."""
        generator = random.Random(3)
        written = 0
        for number in range(60):
            product = _random(generator)
            try:
                nest.write(product, 128)
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
            result, _ = self.run_kernel(nest.write(product, 128), data, 128)
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
                result, _ = self.run_kernel(nest.write(product, 128), data, 128)
                right = products.expected(product, data)
                self.assertEqual(int(np.isnan(right).sum()), 3)
                np.testing.assert_array_equal(result, right)

    def test_a_wrong_kernel_is_noticed(self) -> None:
        """Changes one number of the text at a time."""
        for product in (
            matmul(5, 24, 9, "i8", quantized(), ("i32", "i32")),
            convolution(4, 24, 3, stride=2),
            convolution(4, 24, 3, "i8", depthwise=True),
        ):
            kernel = nest.write(product, 128)
            data = products.operands(product)
            right = products.expected(product, data)
            lines = kernel.text.splitlines()
            changes: dict[str, int] = collections.Counter()
            unnoticed: dict[str, int] = collections.Counter()
            for place, line in enumerate(lines):
                name = line.split()[0]
                changed = re.sub(r"(-?\d+)(?=\(|$)", lambda m: str(int(m[1]) + 1), line)
                if name not in ("addi", "li", "flw", "lb"):
                    continue
                changes[name] += 1
                text = "\n".join([*lines[:place], changed, *lines[place + 1 :]])
                with contextlib.suppress(riscv.Trap):
                    result, _ = self.run_kernel(replace(kernel, text=text), data, 128)
                    unnoticed[name] += np.array_equal(result, right)
            # Addresses also move at the end, when nothing follows that uses them.
            moves = unnoticed.pop("addi", 0)
            self.assertLess(moves, changes["addi"] / 2)
            self.assertEqual(sum(unnoticed.values()), 0, unnoticed)
            self.assertGreater(min(changes.values()), 1)


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
