"""Tests sums whose lanes are multiplied with lanes."""

from __future__ import annotations

import functools
import itertools
import unittest
from dataclasses import replace
from typing import Any

import products
from kernel_case import KernelCase
from products import convolution, padded

from bmc.kernels.problem.product import Product
from bmc.kernels.schedule import gemm
from bmc.kernels.schedule.choice import Choice

_PADDED: tuple[tuple[tuple[int, int], dict[str, Any]], ...] = (
    ((7, 5), {}),
    ((5, 8), {"stride": 2}),
    ((6, 6), {"low": (2, 2), "high": (2, 2), "window": (5, 5)}),
    ((9, 9), {"dilation": 2, "low": (2, 2), "high": (2, 2)}),
    ((4, 3), {"low": (0, 3), "high": (1, 3), "window": (2, 7)}),
)


class PairsTest(KernelCase):
    def _executed(self, product: Product, shares: bool, rows: int = 2) -> int:
        kernel = gemm.write(product, 256, Choice(reuses=shares, rows=rows))
        return self.run_kernel(kernel, products.operands(product), 256)[1].executed

    def test_rows_share_what_they_read(self) -> None:
        """Two rows of a window of 3 read 4 pixels of a line, instead of 3 each."""
        product = convolution(6, 64, 1, "i8", depthwise=True)
        shared, alone = (self._executed(product, shares) for shares in (True, False))
        # 3 blocks in each of 6 lines, and 3 lines of a window: a load, an extension, and the address.
        self.assertLess(shared, alone - 6 * 3 * 3 * 2 * 2)

    def test_rows_of_floats_share_what_they_read(self) -> None:
        """Six rows of a window of 3 read 8 pixels of a line, instead of 18: a load and the address of each."""
        product = convolution(6, 8, 1, "f32", depthwise=True)
        shared, alone = (self._executed(product, shares, rows=6) for shares in (True, False))
        self.assertLess(shared, alone - 6 * 3 * 10 * 2)

    def test_fewer_rows_are_better_where_they_can_share(self) -> None:
        """6 rows of sums in groups of 4 registers leave two groups: for a pixel and a weight, and not for three."""
        product = convolution(12, 32, 1, "f32", depthwise=True)
        text = gemm.write(product, 256, Choice(lmul=4)).text
        # 4 rows of a window of 3 by 3.
        self.assertEqual(text.count("vfmacc.vv"), 4 * 9)

    def test_windows_of_all_kinds(self) -> None:
        vlens = ((128, 128), (256, 256), (128, 512))
        for dtype, lanes in itertools.product(("i8", "f32"), (8, 24, 64, 72)):
            for more in (
                {"stride": 1},
                {"stride": 2},
                {"dilation": 2},
                {"stride": 3},
            ):
                with self.subTest(dtype=dtype, lanes=lanes, **more):
                    self.agrees(convolution(7, lanes, 1, dtype, depthwise=True, **more), vlens)
        for size, options in _PADDED:
            for dtype, value in (("i8", 0), ("i8", -7), ("f32", 0)):
                for lanes in (24, 64):
                    with self.subTest(size=size, value=value, lanes=lanes, **options):
                        self.agrees(
                            padded(size, lanes, 1, dtype, value=value, depthwise=True, **options),
                            vlens,
                        )

    def test_every_choice_is_right(self) -> None:
        for dtype, value in (("i8", -7), ("f32", 0)):
            product = padded((7, 5), 64, 1, dtype, value=value, depthwise=True)
            for lmul in (1, 2, 4, 8):
                for rows in (1, 2, 3, 5):
                    write = functools.partial(gemm.write, choice=Choice(lmul=lmul, rows=rows))
                    with self.subTest(dtype=dtype, lmul=lmul, rows=rows):
                        self.agrees(product, ((256, 256),), write)

    def test_one_row_shares_nothing(self) -> None:
        product = convolution(6, 64, 1, "i8", depthwise=True)
        (rows,) = product.rows[-1:]
        one = replace(product, rows=(*product.rows[:-1], replace(rows, extent=1)))
        self.assertEqual(self._executed(one, True), self._executed(one, False))


if __name__ == "__main__":
    unittest.main()
