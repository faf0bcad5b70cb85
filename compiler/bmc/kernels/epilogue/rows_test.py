"""Tests what becomes of the sums of several rows at a time."""

from __future__ import annotations

import re
import unittest
from dataclasses import replace

import numpy as np
import products
from kernel_case import KernelCase
from products import FLOAT_SUM, SUM, matmul, planes

from bmc.kernels.problem.product import Node, Product
from bmc.kernels.schedule import gemm


def clipped(*before: Node) -> tuple[Node, ...]:
    """A rescale with a multiplier and a shift for each lane, from operands 3 and 4, behind other nodes."""
    nodes = [SUM, *before]
    first = len(nodes) - 1
    nodes.append(Node("load", "i32", operand=3))
    nodes.append(Node("fixed_multiply", "i32", (first, first + 1)))
    nodes.append(Node("load", "i32", operand=4))
    nodes += [Node("constant", "i32", value=value) for value in (20, -100, 90)]
    nodes.append(Node("requantize", "i8", (first + 2, *range(first + 3, first + 7))))
    return tuple(nodes)


_RESIDUAL = (
    Node("load", "i8", operand=5),
    Node("extsi", "i32", (1,)),
    Node("addi", "i32", (0, 2)),
)


class RowsTest(KernelCase):
    def _same(self, product: Product) -> None:
        """Asserts results with shifts that an int8 needs."""
        data = products.operands(product)
        data[3] = data[3] % 2**20 * 512
        data[4] = data[4] % 9
        right = products.expected(product, data)
        self.assertGreater(len(set(right.reshape(-1).tolist())), 5)
        for vlen, hart in ((128, 128), (256, 256), (128, 512)):
            result, _ = self.run_kernel(gemm.write(product, vlen), data, hart)
            np.testing.assert_array_equal(result, right)

    def test_rescales(self) -> None:
        for count, lanes in ((2, 16), (3, 64), (7, 100), (13, 24)):
            with self.subTest(rows=count, lanes=lanes):
                self._same(matmul(count, lanes, 9, "i8", clipped(), ("i32", "i32")))

    def test_operands_that_move(self) -> None:
        """A residual, for which there are registers or not, and a copy of the sums."""
        for count, lanes in ((3, 64), (7, 100), (13, 24), (5, 8)):
            extra = ("i32", "i32", "residual i8")
            with self.subTest(rows=count, lanes=lanes):
                self._same(matmul(count, lanes, 9, "i8", clipped(*_RESIDUAL), extra))
        store = Node("store", "f32", (0,), operand=4)
        nodes = (FLOAT_SUM, store, Node("load", "f32", operand=3), Node("addf", "f32", (0, 2)))
        self.agrees(matmul(7, 40, 5, "f32", nodes, ("f32", "residual f32")))

    def test_numbers_of_a_row(self) -> None:
        for size, count in ((24, 3), (40, 16), (8, 5)):
            for dtype in ("i8", "f32"):
                self.agrees(planes(size, count, 3, dtype))

    def test_what_is_the_same_for_all_rows_is_loaded_once(self) -> None:
        product = matmul(3, 64, 9, "i8", clipped(), ("i32", "i32"))
        text = gemm.write(product, 256).text
        for start, count in (("vle32", 2), ("vsmul", 3), ("vse8", 3)):
            self.assertEqual(len(re.findall(rf"^{start}", text, re.MULTILINE)), count, start)
        self.assertEqual(len(re.findall("e8, m2", text)), 1)

    def test_an_operand_that_is_read_twice(self) -> None:
        """It would have to move back, so each row is computed alone."""
        again = (*_RESIDUAL, Node("load", "i8", operand=5), Node("extsi", "i32", (4,)))
        nodes = clipped(*again, Node("addi", "i32", (3, 5)))
        product = matmul(3, 24, 9, "i8", nodes, ("i32", "i32", "residual i8"))
        self._same(product)
        moved = replace(product, epilogue=clipped(*_RESIDUAL))
        self._same(moved)


if __name__ == "__main__":
    unittest.main()
