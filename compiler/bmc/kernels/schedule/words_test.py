"""Tests products in words of four int8, which harts with Zvqdotq multiply and add up with one instruction."""

from __future__ import annotations

import functools
import itertools
import unittest
from dataclasses import replace

import products
import riscv_scalars
from kernel_case import KernelCase
from products import SUM, convolution, matmul, padded

from bmc.kernels.problem.product import RESULT, A, B, Edge, Loop, Node, Padding, Product
from bmc.kernels.problem.roles import arranged
from bmc.kernels.schedule import fastest
from bmc.kernels.schedule.choice import proposals
from bmc.kernels.tree.assembly import Kernel

_VLENS = ((128, 128), (256, 256), (128, 512), (1024, 1024))


def packed(product: Product) -> Product:
    """The same with weights [..., k / 4, n, 4] instead of [..., k, n]."""
    *others, loop = product.summed
    rest = loop.strides[RESULT:]
    lanes = replace(product.lanes, strides=(0, 4, *product.lanes.strides[RESULT:]))
    fours = replace(loop, extent=loop.extent // 4, strides=(4, 4 * loop.strides[B], *rest))
    return replace(
        product,
        lanes=lanes,
        summed=(*others, fours, replace(loop, extent=4, strides=(1, 1, *rest))),
    )


def turned(product: Product) -> Product:
    """The same with weights [n, k] instead of [k, n]."""
    (loop,) = product.summed
    rest = loop.strides[RESULT:]
    lanes = replace(product.lanes, strides=(0, loop.extent, *product.lanes.strides[RESULT:]))
    return replace(product, lanes=lanes, summed=(replace(loop, strides=(1, 1, *rest)),))


def pixels(size: tuple[int, int], rows: int, channels: int, stride: int = 1) -> Product:
    """A padded convolution of 3x3 of an image [h, w, c] with weights [rows, 3, 3, c], whose lanes are pixels."""
    height, width = size
    y, x = ((each - 1) // stride + 1 for each in size)
    line, taps = width * channels, 3 * channels
    loops = [
        Loop(rows, (0, 3 * taps, 4 * y * x), (0, 0)),
        Loop(y, (stride * line, 0, 4 * x), (stride, 0)),
        Loop(x, (stride * channels, 0, 4), (0, stride)),
        Loop(3, (line, taps, 0), (1, 0)),
        Loop(3, (channels, channels, 0), (0, 1)),
        Loop(channels, (1, 1, 0), (0, 0)),
    ]
    padding = Padding(A, 0, (Edge(1, height), Edge(1, width)), -line - channels)
    product, swapped = arranged(("i8", "i8", "i32"), loops, {3, 4, 5}, None, (SUM,), padding)
    assert swapped
    return product


def groups(rows: int, lanes: int, taps: int) -> Product:
    """Groups of four channels with one output channel each: lanes have words of both operands."""
    line = 4 * lanes
    return Product(
        ("i8", "i8", "i32"),
        (),
        (Loop(rows, (line, 0, line)),),
        Loop(lanes, (4, 4, 4)),
        (Loop(taps, (line, line, 0)), Loop(4, (1, 1, 0))),
        None,
        (SUM,),
    )


def requantized() -> tuple[Node, ...]:
    """A multiplier for each lane, a shift, a zero point and limits, as rounding instructions compute them."""
    return (
        SUM,
        Node("load", "i32", operand=3),
        Node("fixed_multiply", "i32", (0, 1)),
        *(Node("constant", "i32", value=value) for value in (3, -10, -128, 127)),
        Node("requantize", "i8", (2, 3, 4, 5, 6)),
    )


def words(product: Product, vlen: int) -> Kernel:
    return fastest.write(product.in_words(), vlen)


class WordsTest(KernelCase):
    has_dots = True

    def multiplies(self, product: Product, name: str = "vqdot.vx") -> None:
        """Asserts results of kernels in words, and that they have no other instruction for products."""
        self.agrees(product, _VLENS, words)
        text = words(product, 256).text
        self.assertIn(f" {name} ", text)
        self.assertNotIn("vwmacc", text)

    def test_packed_weights(self) -> None:
        for rows, lanes, sums in itertools.product((1, 2, 5, 13), (8, 40, 100), (4, 12, 200)):
            with self.subTest(rows=rows, lanes=lanes, sums=sums):
                self.multiplies(packed(matmul(rows, lanes, sums, "i8")))

    def test_weights_of_a_lane_are_neighbors(self) -> None:
        for rows, lanes, sums in ((1, 8, 8), (5, 40, 12), (13, 100, 64), (3, 24, 2048)):
            with self.subTest(rows=rows, lanes=lanes, sums=sums):
                self.multiplies(turned(matmul(rows, lanes, sums, "i8")))

    def test_initial_values_and_outer_loops(self) -> None:
        product = packed(matmul(5, 40, 8, "i8", extra=("i32",)))
        self.multiplies(replace(product, initial=3))
        product = packed(matmul(3, 16, 8, "i8"))
        self.multiplies(replace(product, outer=(Loop(2, (3 * 8, 16 * 8, 3 * 16 * 4)),)))

    def test_images(self) -> None:
        for product in (
            convolution(5, 24, 8, "i8", stride=2),
            convolution(5, 24, 4, "i8", dilation=2),
            padded((7, 6), 24, 4, "i8"),
            padded((5, 9), 40, 12, "i8", low=(0, 2), high=(2, 0), stride=2),
        ):
            with self.subTest(lanes=product.lanes.extent, padding=product.padding):
                self.multiplies(packed(product))

    def test_pixels(self) -> None:
        """In panels whose masks leave out what is around the image."""
        for size, rows, channels, stride in (((9, 18), 4, 8, 1), ((16, 20), 6, 4, 2)):
            with self.subTest(size=size):
                self.multiplies(pixels(size, rows, channels, stride))

    def test_lanes_of_both_operands(self) -> None:
        for rows, lanes, taps in ((1, 8, 1), (5, 40, 9), (7, 100, 3)):
            with self.subTest(rows=rows, lanes=lanes):
                self.multiplies(groups(rows, lanes, taps), "vqdot.vv")

    def test_epilogues_that_requantize(self) -> None:
        for rows, lanes, sums in ((1, 8, 4), (5, 24, 12), (7, 100, 36)):
            product = packed(matmul(rows, lanes, sums, "i8", requantized(), ("i32",)))
            data = products.operands(product)
            data[3] *= 4
            right = products.expected(product, data)
            # Otherwise the test would say nothing.
            self.assertGreater(len(set(right.tolist())), 5)
            for vlen, hart in _VLENS:
                with self.subTest(rows=rows, lanes=lanes, vlen=vlen, hart=hart):
                    result, _ = self.run_kernel(words(product, vlen), data, hart)
                    self.assertEqual(result.tolist(), right.tolist())
            self.assertIn("vqdot.vx", words(product, 256).text)

    def test_extreme_numbers(self) -> None:
        """Sums of products of the least numbers, and words whose upper bits are those of negative numbers."""
        product = packed(matmul(3, 16, 64, "i8"))
        for one, other in ((-128, -128), (-128, 127), (127, 127)):
            data = products.operands(product)
            data[A][:], data[B][:] = one, other
            result, _ = self.run_kernel(words(product, 128), data, 128)
            self.assertEqual(set(result.tolist()), {64 * one * other})

    def test_what_is_not_in_words(self) -> None:
        plain = matmul(5, 40, 8, "i8")
        four = packed(plain)
        odd = replace(four, rows=(replace(four.rows[0], strides=(9, 0, 160)),))
        window = packed(padded((7, 6), 24, 4, "i8", value=-7))
        for product in (
            plain,
            turned(matmul(5, 40, 6, "i8")),
            turned(matmul(5, 40, 8, "f32")),
            odd,
            window,
            pixels((9, 18), 4, 3),
            packed(padded((7, 6), 24, 4, "i8", low=(1, 1), high=(1, 1), value=1)),
            convolution(5, 24, 1, "i8", depthwise=True),
            four.in_words(),
        ):
            self.assertEqual(product.in_words(), product)
        # They have the kernels of harts without the instruction.
        self.multiplies_as_before(plain)
        self.multiplies_as_before(window)

    def multiplies_as_before(self, product: Product) -> None:
        self.assertEqual(words(product, 256).text, fastest.write(product, 256).text)
        self.agrees(product, ((256, 256),), words)

    def test_costs(self) -> None:
        """The cost is about what is executed."""
        for product in (packed(matmul(16, 64, 400, "i8")), turned(matmul(16, 64, 400, "i8"))):
            executed = words(product, 256).executed
            cost = fastest.cost(product.in_words(), 256, 10)
            self.assertAlmostEqual(cost / executed, 1, delta=0.25)

    def test_takes_less_than_a_quarter_of_the_instructions(self) -> None:
        """Beside the same products without the instruction, whose weights are [k, n]."""
        for rows, vlen, most, without in (
            (16, 128, 23_881, 104_457),
            (16, 256, 11_941, 52_877),
            (16, 512, 5_971, 26_439),
            (1, 128, 2_209, 10_617),
            (1, 256, 1_105, 5_309),
            (1, 512, 553, 2_655),
        ):
            plain = matmul(rows, 256, 256, "i8")
            executed = []
            for kernel, product in (
                (fastest.write(plain, vlen), plain),
                (words(packed(plain), vlen), packed(plain)),
            ):
                data = products.operands(product)
                executed.append(self.run_kernel(kernel, data, vlen)[1].executed)
            with self.subTest(rows=rows, vlen=vlen, executed=executed):
                self.assertLessEqual(executed[0], without)
                self.assertLessEqual(executed[1], most)
                self.assertLess(4 * executed[1], executed[0])


class WithoutDotsTest(KernelCase):
    def test_no_other_kernel_has_the_instruction(self) -> None:
        """Whatever is chosen about it, so a hart without it computes the same."""
        for product in (packed(matmul(5, 40, 8, "i8")), turned(matmul(5, 40, 8, "i8"))):
            write = functools.partial(fastest.write, product, 256)
            for each in proposals(write, 100):
                text = write(each.choice).text
                self.assertNotIn("vqdot", text)
                self.assertNotIn(".insn", text)
            self.agrees(product, _VLENS, fastest.write)

    def test_the_hart_has_no_such_instruction(self) -> None:
        product = packed(matmul(5, 40, 8, "i8"))
        with self.assertRaisesRegex(riscv_scalars.Trap, "no instruction vqdot.vx"):
            self.run_kernel(words(product, 256), products.operands(product), 256)

    def test_another_number_is_no_instruction(self) -> None:
        """vqdotu.vx, whose bytes have no signs, under the name of vqdot.vx, and operands in another order."""
        product = packed(matmul(5, 40, 8, "i8"))
        kernel = words(product, 256)
        for old, new in ((", 0x59, ", ", 0x51, "), ("vqdot.vx v24, v0, ", "vqdot.vx v24, v8, ")):
            text = kernel.text.replace(old, new)
            self.assertNotEqual(text, kernel.text)
            with self.assertRaisesRegex(riscv_scalars.Trap, "no instruction"):
                wrong = replace(kernel, text=text)
                self.run_kernel(wrong, products.operands(product), 256)


if __name__ == "__main__":
    unittest.main()
