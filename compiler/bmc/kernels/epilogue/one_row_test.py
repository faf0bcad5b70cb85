"""Runs epilogues that read tables and have several results."""

from __future__ import annotations

import unittest

from kernel_case import KernelCase
from products import SUM, matmul

from bmc.kernels.problem.product import Node


class EpilogueTest(KernelCase):
    def test_tables_and_several_results(self) -> None:
        """A byte is looked up, stored, and looked up again; it is also needed behind its store."""
        nodes = (
            SUM,
            Node("constant", "i32", value=-128),
            Node("maxsi", "i32", (0, 1)),
            Node("constant", "i32", value=127),
            Node("minsi", "i32", (2, 3)),
            Node("constant", "i32", value=128),
            Node("addi", "i32", (4, 5)),
            Node("lookup", "i8", (6,), operand=3),
            Node("store", "i8", (7,), operand=4),
            Node("store", "i8", (4,), operand=5),
            Node("store", "i32", (6,), operand=6),
            Node("addi", "i32", (7, 5)),
        )
        extra = ("table i8", "residual i8", "residual i8", "residual i32", "table i8")
        for end in (Node("lookup", "i8", (11,), operand=7), Node("muli", "i32", (11, 4))):
            for lanes in (8, 40, 100):
                with self.subTest(end=end.op, lanes=lanes):
                    self.agrees(matmul(5, lanes, 6, "i8", (*nodes, end), extra))


if __name__ == "__main__":
    unittest.main()
