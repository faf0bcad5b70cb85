"""A test case that runs kernels of bmc's own on a model of a hart, and compares their results with numpy's."""

from __future__ import annotations

import unittest

import numpy as np
import products
import riscv
from products import Array

from bmc.kernels import nest
from bmc.kernels.assembly import Kernel
from bmc.kernels.product import RESULT, Product


class KernelCase(unittest.TestCase):
    def run_kernel(
        self, kernel: Kernel, data: list[Array], vlen: int
    ) -> tuple[Array, riscv.Machine]:
        data = [array.copy() for array in data]
        scratch = [np.full(kernel.scratch, 0x77, np.uint8)] if kernel.scratch else []
        machine = riscv.Machine(vlen, [*data, *scratch], writable={RESULT, len(data)})
        machine.run(kernel.text, kernel.arguments)
        self.assertLessEqual(machine.written, set(kernel.clobbered))
        return data[RESULT], machine

    def agrees(self, product: Product, vlens: tuple[tuple[int, int], ...] = ()) -> None:
        """Asserts the result of kernels for a VLEN on harts of a VLEN."""
        data = products.operands(product)
        with np.errstate(all="ignore"):
            right = products.expected(product, data)
        for vlen, hart in vlens or ((128, 128), (256, 256), (128, 512)):
            kernel = nest.write(product, vlen)
            with self.subTest(vlen=vlen, hart=hart):
                result, _ = self.run_kernel(kernel, data, hart)
                np.testing.assert_array_equal(result, right)
