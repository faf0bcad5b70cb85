"""Tests products whose `b` is widened once for all rows."""

from __future__ import annotations

import re
import unittest
from dataclasses import replace

from kernel_case import KernelCase
from products import convolution, matmul, operands, padded, padded_planes, planes

from bmc.kernels.problem.product import Product
from bmc.kernels.schedule import gemm
from bmc.kernels.schedule.choice import Choice
from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.unsupported import Unsupported

_VLENS = ((128, 128), (256, 256), (128, 512), (1024, 1024))


def staged(product: Product, vlen: int) -> Kernel:
    return gemm.write(product, vlen, Choice(widens=True))


class StageTest(KernelCase):
    def test_matrices(self) -> None:
        for rows, lanes, sums in ((1, 8, 3), (7, 40, 9), (13, 100, 30), (5, 64, 1)):
            with self.subTest(rows=rows, lanes=lanes):
                self.agrees(matmul(rows, lanes, sums, "i8"), _VLENS, staged)

    def test_images_in_memory(self) -> None:
        for size, rows, channels, gap in (
            (8, 3, 2, 1),
            (40, 16, 3, 1),
            (24, 9, 3, 3),
            (16, 4, 9, 9),
        ):
            with self.subTest(size=size, gap=gap):
                self.agrees(planes(size, rows, channels, "i8", gap), _VLENS, staged)
        self.agrees(convolution(5, 24, 5, "i8", stride=2), _VLENS, staged)
        self.agrees(padded((7, 6), 24, 3, "i8", value=-7), _VLENS, staged)

    def test_padded_images(self) -> None:
        """Lanes that go on in the next line, or do not; pixels that are neighbors, or apart; windows of all kinds."""
        for size, rows, channels, more in (
            ((16, 20), 6, 4, {}),
            ((5, 96), 9, 2, {}),
            ((40, 8), 3, 2, {"low": (0, 1), "high": (2, 1)}),
            ((16, 20), 6, 3, {"stride": 2}),
            ((15, 21), 4, 2, {"stride": 2, "pixels": True}),
            ((16, 20), 6, 3, {"pixels": True}),
            ((12, 24), 4, 9, {"pixels": True}),
            ((20, 20), 4, 3, {"low": (2, 2), "high": (2, 2), "window": (5, 5)}),
            ((12, 40), 4, 3, {"dilation": 2, "low": (2, 2), "high": (2, 2)}),
            ((16, 24), 5, 3, {"low": (0, 0), "high": (1, 1), "stride": 2}),
            ((1, 90), 5, 3, {"low": (0, 1), "high": (0, 1), "window": (1, 3)}),
            ((4, 40), 5, 3, {"low": (0, 1), "high": (0, 1), "window": (1, 3)}),
            ((12, 24), 8, 8, {"depthwise": True}),
        ):
            for value in (0, -9):
                with self.subTest(size=size, value=value, **more):
                    product = padded_planes(size, rows, channels, "i8", value=value, **more)
                    self.agrees(product, _VLENS, staged)

    def test_a_panel_is_extended_once(self) -> None:
        """The second block of rows extends nothing, and taps share what they read."""
        product = padded_planes((16, 32), 16, 8, "i8")
        executed = []
        for stages in (False, True):
            kernel = gemm.write(product, 256, Choice(widens=stages))
            executed.append(self.run_kernel(kernel, operands(product), 256)[1].executed)
            sums = kernel.text[kernel.text.index("vwmacc") :]
            self.assertEqual("vsext" in sums, not stages)
        self.assertLess(executed[1], 0.95 * executed[0])
        self.assertEqual(gemm.write(product, 256).text, staged(product, 256).text)

    def test_the_cost_counts_the_lanes_that_are_apart(self) -> None:
        for channels in (2, 3, 9):
            product = planes(24, 5, channels, "i8", 2)
            executed = gemm.write(product, 128).executed
            self.assertAlmostEqual(gemm.cost(product, 128, 0) / executed, 1, delta=0.12)

    def test_without_masks_lanes_outside_of_the_image_are_read(self) -> None:
        product = padded_planes((16, 20), 6, 4, "i8", value=-3)
        kernel = staged(product, 256)
        text = re.sub(r"^(vle8.*), v0\.t$", r"\1", kernel.text, flags=re.MULTILINE)
        self.assertNotEqual(text, kernel.text)
        with self.assertRaisesRegex(AssertionError, "in no operand"):
            self.run_kernel(replace(kernel, text=text), operands(product), 256)

    def test_what_is_not_widened(self) -> None:
        for product, reason in (
            (matmul(8, 64, 9), "no such choice"),
            (convolution(5, 24, 1, "i8", depthwise=True), "not widened"),
        ):
            with self.assertRaisesRegex(Unsupported, reason):
                staged(product, 256)
        # One block of rows reads everything once.
        product = matmul(2, 64, 9, "i8")
        plain = gemm.write(product, 256, Choice(widens=False))
        self.assertEqual(gemm.write(product, 256).text, plain.text)


if __name__ == "__main__":
    unittest.main()
