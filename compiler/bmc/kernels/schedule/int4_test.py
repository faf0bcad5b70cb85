"""Tests products of int8 with weights of int4, two of them in a byte."""

from __future__ import annotations

import itertools
import re
import unittest
from dataclasses import replace
from typing import Any

import numpy as np
import products
from kernel_case import KernelCase
from products import SUM, matmul, padded

from bmc.kernels.problem.product import RESULT, A, B, Loop, Node, Product, Unsupported
from bmc.kernels.schedule import fastest, int4
from bmc.kernels.schedule.choice import Choice

_VLENS = ((128, 128), (256, 256), (128, 512), (1024, 1024))
Array = np.ndarray[Any, Any]


def packed(product: Product, group: int = 16) -> Product:
    """A product of int8 with its weights packed, in groups of so many bytes for each lane."""
    (loop,) = product.summed
    a, b, *rest = loop.strides
    outer = tuple(
        replace(each, strides=(each.strides[A], each.strides[B] // 2, *each.strides[RESULT:]))
        for each in product.outer
    )
    return replace(
        product,
        dtypes=("i8", "i4", *product.dtypes[RESULT:]),
        outer=outer,
        summed=(
            Loop(loop.extent // (2 * group), (2 * group * a, group * b, *rest)),
            Loop(group, (2 * a, b, *rest)),
            Loop(2, (a, 0, *rest)),
        ),
    )


def packed_weights(weights: Array) -> Array:
    """Weights [sums, lanes] of one byte each, as dtypes.py says."""
    sums, lanes = weights.shape
    groups = weights.reshape(sums // 32, 16, 2, lanes)
    result: Array = (groups[:, :, 0] & 15 | groups[:, :, 1] << 4).astype(np.int8).reshape(-1)
    return result


class Int4Test(KernelCase):
    def multiplies(self, a: Array, weights: Array, vlens: tuple[tuple[int, int], ...]) -> None:
        (rows, sums), lanes = a.shape, weights.shape[1]
        right = a.astype(np.int64) @ weights
        data = [a.reshape(-1), packed_weights(weights), np.zeros(rows * lanes, np.int32)]
        for vlen, hart in vlens:
            kernel = fastest.write(packed(matmul(rows, lanes, sums, "i8")), vlen)
            with self.subTest(rows=rows, lanes=lanes, sums=sums, vlen=vlen, hart=hart):
                result, _ = self.run_kernel(kernel, data, hart)
                np.testing.assert_array_equal(result.reshape(rows, lanes), right)

    def test_numbers_that_are_unpacked(self) -> None:
        generator = np.random.default_rng(1)
        shapes = itertools.product((1, 2, 5, 16), (8, 40, 64, 101, 300))
        for number, (rows, lanes) in enumerate(shapes):
            sums = (32, 96, 256)[number % 3]
            a = generator.integers(-128, 128, (rows, sums)).astype(np.int8)
            weights = generator.integers(-8, 8, (sums, lanes)).astype(np.int8)
            self.multiplies(a, weights, (_VLENS[number % 4], _VLENS[(number + 1) % 4]))

    def test_the_largest_sums(self) -> None:
        """Those of 32 products just fit into 16 bits, as they begin at -1."""
        for number, weight in itertools.product((-128, 127), (-8, 7)):
            a, weights = np.full((4, 64), number, np.int8), np.full((64, 40), weight, np.int8)
            self.multiplies(a, weights, ((128, 128), (256, 256)))
        product = packed(matmul(4, 40, 64, "i8"))
        data = [np.full(4 * 64, -128, np.int8), np.full(32 * 40, -120, np.int8)]
        data.append(np.zeros(4 * 40, np.int32))
        kernel = int4.write(product, 128)
        text, count = re.subn(r"(li x\d+), -1$", r"\1, 0", kernel.text, flags=re.MULTILINE)
        self.assertEqual(count, 1)
        text, count = re.subn(r"(vadd.vx v0, v0), x\d+$", r"\1, zero", text, flags=re.MULTILINE)
        self.assertGreater(count, 0)
        right = products.expected(product, data)
        result, _ = self.run_kernel(kernel, data, 128)
        np.testing.assert_array_equal(result, right)
        result, _ = self.run_kernel(replace(kernel, text=text), data, 128)
        self.assertFalse((result == right).any())

    def test_loops(self) -> None:
        for rows, lanes in ((1, 24), (5, 101)):
            inner = packed(matmul(rows, lanes, 64, "i8"))
            outer = (
                Loop(2, (3 * rows * 64, 3 * 32 * lanes, 3 * rows * lanes * 4)),
                Loop(3, (rows * 64, 32 * lanes, rows * lanes * 4)),
            )
            lines = Loop(2, (rows * 64, 0, rows * lanes * 4))
            halves = inner.summed[-1]
            for product in (
                replace(inner, outer=outer),
                replace(inner, rows=(lines, *inner.rows)),
                replace(inner, rows=()),
                replace(inner, rows=(), summed=(halves,)),
            ):
                self.agrees(product, _VLENS, fastest.write)

    def test_sums_of_all_lengths(self) -> None:
        """Of groups that are no 16 bytes, and that are no neighbors."""
        for groups, pairs, gap in ((1, 1, 0), (1, 15, 0), (3, 7, 0), (3, 17, 5), (2, 16, 3)):
            inner = packed(matmul(5, 40, 2 * groups * pairs, "i8"), pairs)
            (row,), (loop, *rest) = inner.rows, inner.summed
            apart = replace(loop, strides=(2 * pairs + gap, 40 * (pairs + gap), 0))
            row = replace(row, strides=(groups * (2 * pairs + gap), *row.strides[B:]))
            with self.subTest(groups=groups, pairs=pairs, gap=gap):
                product = replace(inner, rows=(row,), summed=(apart, *rest))
                self.agrees(product, _VLENS, fastest.write)

    def test_halves_that_are_no_neighbors(self) -> None:
        """Of a group, the lower halves have the first 16 numbers."""
        product = packed(matmul(5, 40, 64, "i8"))
        group, *_ = product.summed
        summed = (group, Loop(16, (1, 40, 0)), Loop(2, (16, 0, 0)))
        self.agrees(replace(product, summed=summed), _VLENS, fastest.write)

    def test_distances_that_fit_into_no_instruction(self) -> None:
        self.agrees(packed(matmul(7, 40, 1024, "i8")), ((256, 256),), fastest.write)
        many = packed(matmul(3, 2100, 64, "i8"))
        self.agrees(many, ((256, 256),), fastest.write)
        # One of lanes is in a register.
        self.assertNotRegex(fastest.write(many, 256).text, r"vle8.*\n *li ")

    def test_few_lanes_are_read_for_more_rows(self) -> None:
        for lanes, group in ((128, "m4"), (64, "m2"), (16, "m1")):
            text = fastest.write(packed(matmul(14, lanes, 64, "i8")), 256).text
            self.assertEqual(set(re.findall(r"e8, (m\d)", text)), {group})

    def test_epilogues(self) -> None:
        residual = (
            SUM,
            Node("load", "i8", operand=3),
            Node("extsi", "i32", (1,)),
            Node("addi", "i32", (0, 2)),
            Node("load", "i32", operand=4),
            Node("mulhi", "i32", (3, 4)),
            Node("constant", "i32", value=2),
            Node("shrsi", "i32", (5, 6)),
            Node("trunci", "i8", (7,)),
        )
        for rows, lanes in ((1, 8), (5, 24), (13, 101)):
            plain = matmul(rows, lanes, 64, "i8", residual, ("residual i8", "i32"))
            self.agrees(packed(plain), _VLENS, fastest.write)
            started = replace(matmul(rows, lanes, 64, "i8", extra=("i32",)), initial=3)
            self.agrees(packed(started), _VLENS, fastest.write)

    def test_pieces(self) -> None:
        """Lanes and rows of a product, for several harts."""
        whole = packed(matmul(16, 256, 64, "i8"))
        for number, extent in ((0, 4), (1, 96)):
            self.agrees(whole.cut(number, extent), ((256, 256),), fastest.write)

    def test_half_of_the_instructions_and_bytes(self) -> None:
        """Instructions, and loaded bytes of weights, with VLEN 256:

        1x256x256: int8 5,309 and 65,536, int4 2,771 and 32,768.
        16x256x256: int8 52,877 and 393,216, int4 29,369 and 196,608, in six blocks of rows each.
        """
        for rows, most, loaded in ((1, 2_800, 32_768), (16, 29_500, 196_608)):
            plain = matmul(rows, 256, 256, "i8")
            executed, read = [], []
            for product in (plain, packed(plain)):
                kernel, data = fastest.write(product, 256), products.operands(product)
                result, machine = self.run_kernel(kernel, data, 256)
                np.testing.assert_array_equal(result, products.expected(product, data))
                executed.append(machine.executed)
                read.append(machine.loaded[B])
            with self.subTest(rows=rows, executed=executed, read=read):
                self.assertLess(executed[1], most)
                self.assertLess(executed[1], 0.56 * executed[0])
                self.assertEqual(read, [2 * loaded, loaded])

    def test_weights_stay_packed(self) -> None:
        """More of them take no more scratch memory."""
        short, long = (int4.write(packed(matmul(16, 256, n, "i8")), 256) for n in (64, 1024))
        self.assertEqual(short.scratch, long.scratch)

    def test_what_is_not_supported(self) -> None:
        product = packed(matmul(5, 40, 64, "i8"))
        by_row = replace(packed(matmul(5, 40, 64, "i8", extra=("i32",))), initial=3)
        by_row = replace(by_row, lanes=replace(by_row.lanes, strides=(0, 1, 4, 0)))
        image = padded((7, 6), 24, 2, "i8")
        far = replace(product.summed[-1], strides=(4096, 0, 0))
        for wrong, reason in (
            (matmul(5, 40, 64, "i8"), "no lanes of packed int4"),
            (replace(product, summed=product.summed[:-1]), "no lanes of packed int4"),
            (replace(product, lanes=replace(product.lanes, strides=(0, 32, 4))), "no lanes"),
            (replace(product, padding=image.padding), "padded"),
            (replace(product, summed=(*product.summed[:-1], far)), "far apart"),
            (by_row, "for each row"),
        ):
            with self.assertRaisesRegex(Unsupported, reason):
                int4.write(wrong, 256)
        with self.assertRaisesRegex(Unsupported, "no choice of 'lmul'"):
            fastest.write(product, 256, Choice(lmul=4))


if __name__ == "__main__":
    unittest.main()
