"""Runs kernels with long sums and with windows."""

from __future__ import annotations

import itertools
import re
import unittest

from kernel_case import KernelCase
from products import FLOAT_SUM, SUM, convolution, matmul, padded, padded_planes

from bmc.kernels.problem.product import Loop, Node, Product
from bmc.kernels.problem.roles import arranged
from bmc.kernels.schedule import gemm


class SumsTest(KernelCase):
    def test_long_sums(self) -> None:
        for dtype in ("f32", "i8"):
            for sums in (1, 31, 64, 1200):
                with self.subTest(dtype=dtype, sums=sums):
                    self.agrees(matmul(5, 24, sums, dtype), ((128, 128),))
        # Steps in `b`, and rows of `a`, that fit into no instruction.
        self.agrees(matmul(3, 600, 5), ((256, 256),))
        self.agrees(matmul(3, 2100, 5, "i8"), ((256, 256),))

    def test_registers_that_must_be_saved_come_last(self) -> None:
        """fs0 to fs11: saving and restoring them takes a short kernel a noticeable part of its instructions."""
        saved = {f"f{number}" for number in (8, 9, *range(18, 28))}
        kernel = gemm.write(matmul(3, 64, 64, "f32"), 256)
        self.assertFalse(saved & set(kernel.clobbered))
        constants = [FLOAT_SUM]
        for number in range(30):
            constants.append(Node("constant", "f32", value=number + 0.5))
            constants.append(Node("addf", "f32", (2 * number, 2 * number + 1)))
        kernel = gemm.write(matmul(3, 64, 64, "f32", tuple(constants)), 256)
        self.assertTrue(saved & set(kernel.clobbered))

    def test_windows(self) -> None:
        for dtype in ("f32", "i8"):
            for stride, dilation in ((1, 1), (2, 1), (1, 2), (2, 3)):
                for depthwise in (False, True):
                    with self.subTest(
                        dtype=dtype, stride=stride, dilation=dilation, depthwise=depthwise
                    ):
                        product = convolution(5, 24, 3, dtype, stride, dilation, depthwise)
                        self.agrees(product)
        self.agrees(convolution(3, 40, 200), ((128, 128),))
        self.agrees(convolution(7, 100, 1, "i8", depthwise=True), ((128, 128),))

    def test_numbers_are_loaded_ahead_of_small_groups(self) -> None:
        """With groups of four registers of sums, and not with groups of eight."""
        for lanes, most in ((32, 6), (64, 1)):
            text = gemm.write(matmul(12, lanes, 40, "i8"), 256).text
            runs = re.findall(r"(?:^lb .*\n)+", text, re.MULTILINE)
            self.assertEqual(max(run.count("\n") for run in runs), most)

    def test_windows_that_leave_the_image(self) -> None:
        for number, (stride, dilation, depthwise, dtype) in enumerate(
            itertools.product((1, 2), (1, 2), (False, True), ("f32", "i8"))
        ):
            value = 0 if dtype == "f32" else (-128, 0, 5)[number % 3]
            for size, window, low in (
                ((5, 9), (3, 3), (1, 1)),
                ((9, 32), (3, 3), (0, 2)),
                ((6, 4), (1, 5), (0, 2)),
                ((4, 3), (7, 7), (3, 3)),
                ((5, 1), (3, 1), (1, 0)),
            ):
                high = ((window[0] - 1) * dilation, (window[1] - 1) * dilation)
                with self.subTest(number=number, size=size):
                    product = padded(
                        size, 24, 3, dtype, low, high, window, stride, dilation, depthwise, value
                    )
                    self.agrees(product)

    def test_pixels_as_lanes_in_a_window_that_leaves_the_image(self) -> None:
        for number, (stride, dilation, pixels, dtype) in enumerate(
            itertools.product((1, 2), (1, 2), (False, True), ("f32", "i8"))
        ):
            value = 0 if dtype == "f32" else (-128, 0, 5)[number % 3]
            for size, window, low, rows in (
                ((9, 18), (3, 3), (1, 1), 4),
                ((5, 32), (3, 3), (0, 2), 7),
                ((40, 12), (1, 5), (0, 2), 3),
                ((17, 13), (5, 1), (3, 0), 1),
            ):
                high = (
                    (window[0] - 1) * dilation - low[0],
                    (window[1] - 1) * dilation - low[1],
                )
                with self.subTest(number=number, size=size):
                    product = padded_planes(
                        size, rows, 3, dtype, low, high, window, stride, dilation, value, pixels
                    )
                    self.assertEqual(len(product.grid), 2 if stride == 1 else 1)
                    self.agrees(product)

    def test_planes_by_themselves(self) -> None:
        """A depthwise convolution of planes: masks are the same for all of them."""
        for dtype, value in (("f32", 0), ("i8", -128)):
            for size, stride in (((14, 20), 1), ((9, 48), 2)):
                with self.subTest(dtype=dtype, size=size):
                    product = padded_planes(
                        size, 3, 1, dtype, stride=stride, value=value, depthwise=True
                    )
                    self.agrees(product)

    def test_a_window_of_one_column(self) -> None:
        """Neighboring rows of a block are those that the window slides over."""
        square = convolution(9, 24, 8, "i8")
        down, across, channels = square.summed
        y, x = square.rows
        for taps, line in ((down, y), (across, x)):
            product, swapped = arranged(
                square.dtypes, [y, x, square.lanes, taps, channels], {3, 4}, None, (SUM,)
            )
            self.assertFalse(swapped)
            self.assertEqual(product.rows[-1], line)
            self.agrees(product)

    def test_a_window_with_too_many_addresses(self) -> None:
        """No two of its numbers are near enough for one address, so each tap loads its own."""
        far = 4000
        more = 5
        epilogue = [SUM]
        for number in range(more):
            epilogue.append(Node("load", "i32", operand=3 + number))
            epilogue.append(Node("addi", "i32", (2 * number, 2 * number + 1)))
        residual, lane, none = (4 * 24,) * more, (4,) * more, (0,) * more
        product = Product(
            ("i8", "i8", "i32", *("i32",) * more),
            (),
            (Loop(3, (40, 0, 9 * 4 * 24, *residual)), Loop(9, (far, 0, 4 * 24, *residual))),
            Loop(24, (0, 1, 4, *lane)),
            (Loop(7, (far, 24 * 40, 0, *none)), Loop(40, (1, 24, 0, *none))),
            None,
            tuple(epilogue),
        )
        self.agrees(product)


if __name__ == "__main__":
    unittest.main()
