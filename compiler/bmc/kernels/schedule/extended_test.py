"""Tests products of f32 with weights of f16 or bf16, which kernels extend as they read them."""

from __future__ import annotations

import unittest
from dataclasses import replace

import products
from kernel_case import KernelCase
from products import convolution, matmul, padded, planes

from bmc.kernels.dtypes import HALVES
from bmc.kernels.problem.product import A, B, Loop, Product
from bmc.kernels.schedule import gemm, sliding
from bmc.kernels.unsupported import Unsupported

_HARTS = ((128, 128), (256, 256), (128, 512))


def halved(product: Product, *operands: int, half: str = "f16") -> Product:
    """A product of f32 of which some operands are stored in 16 bits."""

    def loops(found: tuple[Loop, ...]) -> tuple[Loop, ...]:
        return tuple(
            replace(
                each,
                strides=tuple(
                    stride // 2 if number in operands else stride
                    for number, stride in enumerate(each.strides)
                ),
            )
            for each in found
        )

    return replace(
        product,
        dtypes=tuple(
            half if number in operands else each for number, each in enumerate(product.dtypes)
        ),
        outer=loops(product.outer),
        rows=loops(product.rows),
        lanes=loops((product.lanes,))[0],
        summed=loops(product.summed),
        grid=loops(product.grid),
    )


class ExtendedTest(KernelCase):
    def test_weights_of_lanes(self) -> None:
        for product in (
            *(matmul(rows, lanes, 7) for rows in (1, 5, 13) for lanes in (8, 40, 100)),
            convolution(5, 24, 5, stride=2),
            padded((7, 6), 24, 3),
        ):
            with self.subTest(lanes=product.lanes.extent, sums=len(product.summed)):
                for half in HALVES:
                    self.agrees(halved(product, B, half=half), _HARTS)

    def test_weights_of_depthwise_convolutions(self) -> None:
        """With rows that share what they read, and rows that do not."""
        for size, lanes in ((5, 24), (2, 100)):
            with self.subTest(size=size, lanes=lanes):
                self.agrees(halved(convolution(size, lanes, 1, depthwise=True), B), _HARTS)
                self.agrees(halved(padded((7, 6), lanes, 1, depthwise=True), B), _HARTS)

    def test_weights_of_pixels(self) -> None:
        """Lanes are pixels, so that weights are numbers."""
        for half in HALVES:
            self.agrees(halved(planes(40, 16, 3), A, half=half), _HARTS)

    def test_both_factors_of_bf16_that_no_instruction_multiplies(self) -> None:
        for product in (matmul(5, 40, 7), convolution(5, 24, 5, stride=2), planes(40, 16, 3)):
            each = replace(halved(product, A, B, half="bf16"), extends=True)
            with self.subTest(lanes=product.lanes.extent):
                self.assertEqual(each.scheme.multiply, "vfmacc")
                self.agrees(each, _HARTS)
                self.assertNotIn("vfwmaccbf16", gemm.write(each, 256).text)

    def test_takes_few_instructions_more(self) -> None:
        product = matmul(8, 64, 16)
        executed = []
        for each in (product, halved(product, B)):
            kernel, data = gemm.write(each, 256), products.operands(each)
            executed.append(self.run_kernel(kernel, data, 256)[1].executed)
        self.assertLess(executed[1], 1.4 * executed[0])

    def test_images_stay_f32(self) -> None:
        product = convolution(5, 24, 1, depthwise=True)
        for write in (gemm.write, sliding.write):
            with self.assertRaises(Unsupported):
                write(halved(product, A), 256)


if __name__ == "__main__":
    unittest.main()
