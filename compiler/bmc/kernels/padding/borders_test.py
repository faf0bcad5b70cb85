"""Tests how lines are cut into blocks where a window leaves the image."""

from __future__ import annotations

import unittest
from dataclasses import replace

from kernel_case import KernelCase
from products import convolution, operands, padded

from bmc.kernels.padding.borders import Borders
from bmc.kernels.problem.product import Edge, Loop, OutOfBounds, Product
from bmc.kernels.schedule import gemm
from bmc.kernels.unsupported import Unsupported


def _blocks(product: Product, most: int) -> list[tuple[int, int, OutOfBounds]]:
    return Borders(product, product.rows[-1]).blocks(most)


class BordersTest(KernelCase):
    def test_blocks_at_the_ends_of_a_line(self) -> None:
        product = padded((6, 20), 24, 3)
        left, right = frozenset({(0, 0)}), frozenset({(3, 2)})
        self.assertEqual(
            _blocks(product, 5), [(1, 5, left), (2, 5, frozenset()), (1, 5, frozenset({(4, 2)}))]
        )
        self.assertEqual(
            _blocks(product, 7), [(1, 7, left), (1, 7, frozenset()), (1, 6, frozenset({(5, 2)}))]
        )
        self.assertEqual(_blocks(padded((6, 8), 24, 3), 4), [(1, 4, left), (1, 4, right)])
        self.assertEqual(
            _blocks(convolution(20, 24, 3), 7), [(2, 7, frozenset()), (1, 6, frozenset())]
        )

    def test_all_rows_are_in_a_block(self) -> None:
        for width in range(1, 40):
            for most in range(1, 9):
                blocks = _blocks(padded((5, width), 24, 3), most)
                self.assertEqual(sum(count * rows for count, rows, _ in blocks), width)
                self.assertTrue(all(1 <= rows <= most for _, rows, _ in blocks))

    def test_several_blocks_miss_taps(self) -> None:
        """Five pixels are missing on the left, and blocks have two."""
        product = padded((4, 12), 24, 3, low=(1, 5), high=(1, 1), window=(3, 7))
        out_of_bounds = [len(each) for _, _, each in _blocks(product, 2)]
        self.assertEqual(out_of_bounds[:4], [5 + 4, 3 + 2, 1, 0])

    def test_the_edge_along_a_line_may_come_first(self) -> None:
        product = padded((6, 20), 24, 3)
        assert product.padding is not None

        def turned(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
            return tuple(replace(loop, steps=loop.steps[::-1]) for loop in loops)

        other = replace(
            product,
            rows=turned(product.rows),
            summed=turned(product.summed),
            padding=replace(product.padding, edges=product.padding.edges[::-1]),
        )
        self.assertEqual(_blocks(other, 5), _blocks(product, 5))
        self.agrees(other)

    def test_an_axis_with_one_tap_declines(self) -> None:
        for window, low, high in (((1, 3), (1, 1), (0, 1)), ((3, 1), (1, 1), (1, 0))):
            product = padded((6, 9), 24, 3, low=low, high=high, window=window)
            taps = [loop for loop in product.summed if loop.extent > 1]
            with self.assertRaisesRegex(Unsupported, "one tap"):
                gemm.write(replace(product, summed=tuple(taps)), 256)

    def test_other_floats_decline(self) -> None:
        with self.assertRaisesRegex(Unsupported, "floats other"):
            gemm.write(padded((6, 9), 24, 3, value=1.5), 256)
        with self.assertRaisesRegex(Unsupported, "floats other"):
            gemm.cost(padded((6, 9), 24, 3, value=1.5), 256, 0)

    def test_what_is_outside_is_not_read(self) -> None:
        """The interpreter refuses access outside of the operands: with a wrong edge, the kernel would do that."""
        product = padded((5, 9), 24, 3, "i8", value=-7)
        self.agrees(product)
        assert product.padding is not None
        for wrong in ((Edge(0, 5), Edge(1, 9)), (Edge(1, 5), Edge(0, 9))):
            kernel = gemm.write(
                replace(product, padding=replace(product.padding, edges=wrong)), 256
            )
            with self.assertRaisesRegex(AssertionError, "in no operand"):
                self.run_kernel(kernel, operands(product), 256)


if __name__ == "__main__":
    unittest.main()
