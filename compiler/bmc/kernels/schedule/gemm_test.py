"""Runs kernels of bmc's own on a model of a hart, and compares their results with numpy's."""

from __future__ import annotations

import collections
import contextlib
import itertools
import re
import unittest
from dataclasses import replace
from typing import Any

import numpy as np
import products
import riscv_scalars
from kernel_case import KernelCase
from products import FLOAT_SUM, SUM, convolution, matmul, padded, planes

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import RESULT, A, B, Loop, Node, Product
from bmc.kernels.problem.roles import needed
from bmc.kernels.schedule import gemm

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


def wide(product: Product) -> Product:
    """A product of int8 with its second operand in 16 bits."""

    def loops(found: tuple[Loop, ...]) -> tuple[Loop, ...]:
        return tuple(
            replace(each, strides=(each.strides[A], 2 * each.strides[B], *each.strides[RESULT:]))
            for each in found
        )

    return replace(
        product,
        dtypes=(product.dtypes[A], "i16", *product.dtypes[RESULT:]),
        outer=loops(product.outer),
        rows=loops(product.rows),
        lanes=loops((product.lanes,))[0],
        summed=loops(product.summed),
    )


class NestTest(KernelCase):
    def test_rows_and_lanes(self) -> None:
        lanes = (8, 16, 24, 40, 64, 80, 100)
        for number, (rows, each) in enumerate(itertools.product((1, 2, 5, 7, 13), lanes)):
            hart = ((128, 128), (256, 256), (128, 512))[number % 3]
            for dtype in ("f16", "f32", "i8"):
                with self.subTest(rows=rows, lanes=each, dtype=dtype):
                    self.agrees(matmul(rows, each, 3 + number % 4, dtype), (hart,))

    def test_16_bits_with_sums_of_f32(self) -> None:
        """What is behind the sums needs f32: so do the sums, and the result is rounded. bf16 is never added up."""
        for half, multiply in (("f16", "vfwmacc"), ("bf16", "vfwmaccbf16")):
            for rows, lanes, sums in ((1, 8, 3), (5, 40, 7), (13, 100, 5)):
                nodes = (
                    FLOAT_SUM,
                    Node("load", half, operand=3),
                    Node("extf", "f32", (1,)),
                    Node("addf", "f32", (0, 2)),
                    Node("truncf", half, (3,)),
                )
                product = matmul(rows, lanes, sums, half, nodes, (half,))
                with self.subTest(half, rows=rows, lanes=lanes):
                    self.assertEqual((product.scheme.bits, product.scheme.multiply), (32, multiply))
                    self.agrees(product)
            for depthwise in (False, True):
                window = convolution(5, 24, 1 if depthwise else 3, half, depthwise=depthwise)
                if half == "f16":
                    rounded = (FLOAT_SUM, Node("truncf", half, (0,)))
                    window = replace(window, epilogue=rounded)
                with self.subTest(half, depthwise=depthwise):
                    self.assertEqual(window.scheme.multiply, multiply)
                    self.agrees(window)

    def test_sums_are_rounded_to_the_nearest_bf16(self) -> None:
        """Ties go to even numbers: of 257 and 259, bf16 has 256 and 260."""
        product = matmul(1, 8, 1, "bf16", (FLOAT_SUM, Node("truncf", "bf16", (0,))), ())
        product = replace(product, initial=3, dtypes=(*product.dtypes, "f32"))
        product = replace(
            product,
            rows=(replace(product.rows[0], strides=(*product.rows[0].strides, 0)),),
            lanes=replace(product.lanes, strides=(*product.lanes.strides, 4)),
            summed=(replace(product.summed[0], strides=(*product.summed[0].strides, 0)),),
        )
        data = products.operands(product)
        data[0][:], data[1][:] = 1, 1
        data[3][:] = [256, 258, 1, 2, 3, 4, 5, 6]
        result, _ = self.run_kernel(gemm.write(product, 128), data, 128)
        self.assertEqual(result.tolist(), [256, 260, 2, 3, 4, 5, 6, 7])

    def test_f16_has_twice_the_lanes(self) -> None:
        executed = []
        for dtype in ("f16", "f32"):
            product = matmul(12, 256, 16, dtype)
            kernel, data = gemm.write(product, 256), products.operands(product)
            executed.append(self.run_kernel(kernel, data, 256)[1].executed)
        self.assertLess(executed[0], 0.6 * executed[1])

    def test_weights_in_16_bits(self) -> None:
        """They are multiplied as they are loaded, without a sign extension."""
        for product in (
            *(matmul(rows, lanes, 7, "i8") for rows in (1, 5, 13) for lanes in (8, 40, 100)),
            matmul(5, 40, 9, "i8", quantized(), ("i32", "i32")),
            convolution(5, 24, 5, "i8", stride=2),
            convolution(5, 24, 1, "i8", depthwise=True),
            padded((7, 6), 24, 3, "i8", value=-7),
            padded((7, 6), 40, 1, "i8", value=-7, depthwise=True),
        ):
            with self.subTest(lanes=product.lanes.extent, sums=len(product.summed)):
                self.agrees(wide(product), ((128, 128), (256, 256), (128, 512)))
                executed = []
                for each in (wide(product), product):
                    kernel, data = gemm.write(each, 256), products.operands(each)
                    executed.append(self.run_kernel(kernel, data, 256)[1].executed)
                self.assertLess(*executed)

    def test_pixels_as_lanes(self) -> None:
        for dtype in ("f16", "f32", "i8"):
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

    def test_results_in_rows_and_columns(self) -> None:
        for dtype, first, name in (("f32", FLOAT_SUM, "bitcast"), ("i8", SUM, "extsi")):
            store = Node("store", first.dtype, (0,), operand=3)
            nodes = (first, store, Node(name, first.dtype, (0,)))
            product = matmul(5, 40, 9, dtype, nodes, (f"residual {first.dtype}",))
            (rows,) = product.rows
            turned = replace(
                product,
                rows=(replace(rows, strides=(*rows.strides[:3], 4)),),
                lanes=replace(product.lanes, strides=(*product.lanes.strides[:3], 20)),
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
        kernel = gemm.write(product, 128)
        self.assertGreater(kernel.scratch, 0)
        self.assertEqual(len(kernel.arguments), 5)
        self.assertEqual(gemm.write(matmul(5, 100, 2), 128).scratch, 0)

    def test_the_cost_is_about_what_is_executed(self) -> None:
        for product in (
            matmul(16, 64, 200),
            convolution(8, 24, 16),
            convolution(8, 64, 1, "i8", depthwise=True),
            planes(40, 16, 8),
        ):
            kernel = gemm.write(product, 256)
            _, machine = self.run_kernel(kernel, products.operands(product), 256)
            self.assertAlmostEqual(gemm.cost(product, 256, 10) / machine.executed, 1, delta=0.25)

    def test_outer_loops_and_a_sum_for_all_rows(self) -> None:
        for dtype in ("f16", "f32", "i8"):
            inner = matmul(3, 16, 5, dtype)
            width = WIDTHS[dtype]
            outer = (
                Loop(2, (3 * 15 * width, 3 * 80 * width, 3 * 48 * 4)),
                Loop(3, (15 * width, 80 * width, 48 * 4)),
            )
            self.agrees(replace(inner, outer=outer))
            # Without rows or sums: an outer product.
            self.agrees(replace(inner, outer=outer, rows=(), summed=()))

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
                Node("fixed_multiply", "i32", (0, 1)),
                *(Node("constant", "i32", value=value) for value in values),
                Node("load", "i32", operand=4),
                Node("andi", "i32", (8, 4)),
                Node("requantize", "i8", (2, 9 if shift is None else 3, 5, 6, 7)),
            )
            rows, lanes = ((1, 8), (5, 24), (7, 40))[number % 3]
            product = matmul(rows, lanes, 9, "i8", needed(list(nodes)), ("i32", "i32"))
            data = products.operands(product)
            data[3] *= 4
            right = products.expected(product, data)
            found |= set(right.tolist())
            for vlen, hart in ((128, 128), (128, 512)):
                result, _ = self.run_kernel(gemm.write(product, vlen), data, hart)
                np.testing.assert_array_equal(result, right)
        # Otherwise the test would say nothing.
        self.assertGreater(len(found), 100)

    def test_a_shift_for_each_row(self) -> None:
        product = planes(24, 5, 2, "i8")
        sum_, load, *_ = product.epilogue
        nodes = (
            sum_,
            replace(load, operand=4),
            Node("rounding_shift", "i32", (0, 1)),
            *(Node("constant", "i32", value=value) for value in (3, -128, 127)),
            Node("requantize", "i8", (2, 1, 3, 4, 5)),
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
        result, _ = self.run_kernel(gemm.write(product, 128), data, 128)
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

    def test_a_wrong_kernel_is_noticed(self) -> None:
        """Changes one number of the text at a time."""
        for product in (
            matmul(5, 24, 9, "i8", quantized(), ("i32", "i32")),
            convolution(4, 24, 3, stride=2),
            convolution(4, 24, 3, "i8", depthwise=True),
        ):
            kernel = gemm.write(product, 128)
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
                with contextlib.suppress(riscv_scalars.Trap):
                    result, _ = self.run_kernel(replace(kernel, text=text), data, 128)
                    unnoticed[name] += np.array_equal(result, right)
            # Addresses also move at the end, when nothing follows that uses them.
            moves = unnoticed.pop("addi", 0)
            self.assertLess(moves, changes["addi"] / 2)
            self.assertEqual(sum(unnoticed.values()), 0, unnoticed)
            self.assertGreater(min(changes.values()), 1)


if __name__ == "__main__":
    unittest.main()
