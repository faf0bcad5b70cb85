"""A test case that runs kernels of bmc's own on a model of a hart, and compares their results with numpy's."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Set

import numpy as np
import products
import riscv
from products import Array

from bmc.kernels.problem.product import RESULT, Product
from bmc.kernels.schedule import gemm
from bmc.kernels.tree.assembly import Kernel


class KernelCase(unittest.TestCase):
    def run_kernel(
        self, kernel: Kernel, data: list[Array], vlen: int
    ) -> tuple[Array, riscv.Machine]:
        data = [array.copy() for array in data]
        return data[RESULT], self.run_on(kernel, data, vlen, {RESULT})

    def run_on(
        self, kernel: Kernel, data: list[Array], vlen: int, written: Set[int]
    ) -> riscv.Machine:
        """Runs a kernel that changes those operands."""
        scratch = [np.full(kernel.scratch, 0x77, np.uint8)] if kernel.scratch else []
        machine = riscv.Machine(vlen, [*data, *scratch], writable={*written, len(data)})
        machine.run(kernel.text, kernel.arguments)
        self.assertLessEqual(machine.written, set(kernel.clobbered))
        self.assertEqual(kernel.executed, machine.executed)
        return machine

    def agrees(
        self,
        product: Product,
        vlens: tuple[tuple[int, int], ...] = (),
        write: Callable[[Product, int], Kernel] = gemm.write,
    ) -> None:
        """Asserts the result of kernels for a VLEN on harts of a VLEN."""
        data = products.operands(product)
        with np.errstate(all="ignore"):
            right = products.results(product, data)
        for vlen, hart in vlens or ((128, 128), (256, 256), (128, 512)):
            kernel = write(product, vlen)
            with self.subTest(vlen=vlen, hart=hart):
                copies = [array.copy() for array in data]
                self.run_on(kernel, copies, hart, set(right))
                for number, result in right.items():
                    np.testing.assert_array_equal(copies[number], result)
