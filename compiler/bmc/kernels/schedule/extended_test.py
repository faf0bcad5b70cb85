"""Tests products of f32 with weights of f16, which kernels extend as they read them."""

from __future__ import annotations

import unittest
from dataclasses import replace

import products
from kernel_case import KernelCase
from products import convolution, matmul, padded, planes

from bmc.kernels.problem.product import A, B, Loop, Product, Unsupported
from bmc.kernels.schedule import gemm, sliding

_HARTS = ((128, 128), (256, 256), (128, 512))


def halved(product: Product, operand: int) -> Product:
    """A product of f32 of which one operand is stored as f16."""

    def loops(found: tuple[Loop, ...]) -> tuple[Loop, ...]:
        return tuple(
            replace(
                each,
                strides=tuple(
                    stride // 2 if number == operand else stride
                    for number, stride in enumerate(each.strides)
                ),
            )
            for each in found
        )

    return replace(
        product,
        dtypes=tuple(
            "f16" if number == operand else each for number, each in enumerate(product.dtypes)
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
                self.agrees(halved(product, B), _HARTS)

    def test_weights_of_depthwise_convolutions(self) -> None:
        """With rows that share what they read, and rows that do not."""
        for size, lanes in ((5, 24), (2, 100)):
            with self.subTest(size=size, lanes=lanes):
                self.agrees(halved(convolution(size, lanes, 1, depthwise=True), B), _HARTS)
                self.agrees(halved(padded((7, 6), lanes, 1, depthwise=True), B), _HARTS)

    def test_weights_of_pixels(self) -> None:
        """Lanes are pixels, so that weights are numbers."""
        self.agrees(halved(planes(40, 16, 3), A), _HARTS)

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
