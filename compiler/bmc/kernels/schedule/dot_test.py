"""Runs kernels that add up lanes of products, and tests where they are used."""

from __future__ import annotations

import unittest
from dataclasses import replace

import numpy as np
import riscv

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import Loop, Node
from bmc.kernels.problem.reduction import Reduction
from bmc.kernels.read import reduction
from bmc.kernels.schedule import dot, reduce

_FLOATS = (
    Node("sum", "f32"),
    Node("load", "f32", operand=3),
    Node("load", "f32", operand=4),
    Node("mulf", "f32", (1, 2)),
    Node("addf", "f32", (0, 3)),
)
_BYTES = (
    Node("sum", "i32"),
    Node("load", "i8", operand=3),
    Node("extsi", "i32", (1,)),
    Node("load", "i8", operand=4),
    Node("extsi", "i32", (3,)),
    Node("muli", "i32", (2, 4)),
    Node("addi", "i32", (0, 5)),
)
_DTYPES = {"f32": np.float32, "i8": np.int8, "i32": np.int32}


def _product(
    results: int, inner: int, dtype: str, swapped: bool = False, gap: int = 0
) -> Reduction:
    """A line times the lines of a matrix, which have gaps between them, plus a number for each result."""
    width, kind = WIDTHS[dtype], "f32" if dtype == "f32" else "i32"
    line, matrix = (0, 0), (width, (inner + gap) * width)
    one, other = (line, matrix) if not swapped else (matrix, line)
    add = "addf" if dtype == "f32" else "addi"
    behind = [Node("sum", kind), Node("load", kind, operand=5), Node(add, kind, (0, 1))]
    loops = [
        Loop(results, (0, 0, 4, one[1], other[1], 4)),
        Loop(inner, (0, 0, 0, width, width, 0)),
    ]
    step = _FLOATS if dtype == "f32" else _BYTES
    return reduction.arranged(("", "", kind, dtype, dtype, kind), loops, {1}, step, behind)


class DotsTest(unittest.TestCase):
    def run_kernel(self, it: Reduction, vlen: int, hart: int) -> riscv.Machine:
        """Asserts the result of a kernel, on small integers."""
        (rows,), lanes = it.outer, it.lanes
        generator = np.random.default_rng(5)
        data = [np.zeros(rows.extent, _DTYPES[it.dtypes[2]])]
        for number in (3, 4, 5):
            reach = sum((loop.extent - 1) * loop.strides[number] for loop in (rows, lanes))
            size = reach // WIDTHS[it.dtypes[number]] + 1
            limit = 128 if it.dtypes[number] == "i8" else 9
            data.append(generator.integers(-limit, limit, size).astype(_DTYPES[it.dtypes[number]]))
        views = [
            np.lib.stride_tricks.as_strided(
                data[place + 1],
                (rows.extent, lanes.extent),
                (rows.strides[place + 3], lanes.strides[place + 3]),
            ).astype(np.int64)
            for place in range(2)
        ]
        right = (views[0] * views[1]).sum(axis=1) + data[3].astype(np.int64)
        kernel = reduce.write(it, vlen)
        scratch = np.full(kernel.scratch, 0x77, np.uint8)
        machine = riscv.Machine(hart, [*data, scratch], writable={0, len(data)})
        machine.run(kernel.text, kernel.arguments)
        np.testing.assert_array_equal(data[0], right)
        self.assertLessEqual(machine.written, set(kernel.clobbered))
        self.assertEqual(kernel.executed, machine.executed)
        return machine

    def test_lines_in_registers_and_in_memory(self) -> None:
        for dtype in ("f32", "i8"):
            for number, (results, inner) in enumerate(
                ((8, 128), (3, 64), (1, 20), (10, 48), (9, 384), (5, 640), (8, 1280))
            ):
                for vlen, hart in ((128, 128), (256, 256), (128, 512)):
                    with self.subTest(dtype=dtype, inner=inner, vlen=vlen, hart=hart):
                        it = _product(
                            results, inner, dtype, swapped=number % 2 == 1, gap=number % 3
                        )
                        self.assertIsNotNone(dot.read(it.step, it.outer[0], it.lanes, vlen))
                        self.run_kernel(it, vlen, hart)

    def test_few_instructions(self) -> None:
        for dtype, most in (("f32", 0.2), ("i8", 0.18)):
            executed = self.run_kernel(_product(8, 128, dtype), 256, 256).executed
            self.assertLess(executed / (8 * 128), most)

    def test_what_is_no_product_of_lines(self) -> None:
        it = _product(8, 128, "f32")
        (rows,), lanes = it.outer, it.lanes
        self.assertIsNotNone(dot.read(it.step, rows, lanes, 256))
        for reason, step, row, line in (
            (
                "another operation",
                (*it.step[:3], replace(it.step[3], op="subf"), it.step[4]),
                rows,
                lanes,
            ),
            ("one operand", (it.step[0], it.step[1], Node("addf", "f32", (0, 1))), rows, lanes),
            ("no line for all", it.step, replace(rows, strides=(0, 0, 4, 512, 512, 4)), lanes),
            ("apart", it.step, rows, replace(lanes, strides=(0, 0, 0, 8, 4, 0))),
            ("pieces", it.step, rows, replace(lanes, extent=127)),
        ):
            with self.subTest(reason=reason):
                self.assertIsNone(dot.read(step, row, line, 256))

    def test_few_results_are_faster(self) -> None:
        for dtype, results, inner, fast in (
            ("f32", 8, 128, True),
            ("f32", 16, 128, False),
            ("f32", 10, 48, False),
            ("i8", 8, 128, True),
            ("i8", 12, 1280, True),
            ("i8", 64, 1280, False),
            ("i8", 8, 131, False),
            ("i32", 8, 128, False),
        ):
            with self.subTest(dtype=dtype, results=results, inner=inner):
                self.assertEqual(dot.is_faster(dtype, results, inner, 256), fast)


if __name__ == "__main__":
    unittest.main()
