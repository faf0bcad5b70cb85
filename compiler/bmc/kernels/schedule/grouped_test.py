"""Runs products with packed weights, and compares them with NumPy's."""

from __future__ import annotations

import unittest

import kernel_case
import numpy as np
import packed_products
import products

from bmc.kernels.problem.product import RESULT, Node, Product, Unsupported
from bmc.kernels.schedule import grouped
from bmc.kernels.tree.assembly import Kernel

_FORMS = {
    "q4_0": packed_products.form(4, 8),
    "q4_1": packed_products.form(4, mins=True),
    "int4, asymmetric": packed_products.form(4, 8, mins=True),
    "q8_0": packed_products.form(8),
    "int8 with minima": packed_products.form(8, mins=True),
}
_HARTS = ((128, 128), (128, 512), (256, 256), (1024, 1024))
_Q4 = _FORMS["q4_0"]
# A residual is added, and nothing below zero is left.
_EPILOGUE = (
    Node("sum", "f32"),
    Node("load", "f32", operand=4),
    Node("addf", "f32", (0, 1)),
    Node("constant", "f32", value=0.0),
    Node("maximumf", "f32", (2, 3)),
)


class GroupedTest(kernel_case.KernelCase):
    def runs(self, product: Product, vlens: tuple[tuple[int, int], ...] = _HARTS) -> list[Kernel]:
        data = packed_products.operands(product)
        right = packed_products.results(product, data)[RESULT]
        kernels = []
        for vlen, hart in vlens:
            with self.subTest(vlen=vlen, hart=hart):
                kernel = grouped.write(product, vlen)
                copies = [array.copy() for array in data]
                self.run_on(kernel, copies, hart, {RESULT})
                np.testing.assert_array_equal(copies[RESULT].reshape(right.shape), right)
                kernels.append(kernel)
        return kernels

    def test_forms(self) -> None:
        for name, packing in _FORMS.items():
            for rows, lanes in ((1, 72), (3, 40)):
                with self.subTest(name, rows=rows, lanes=lanes):
                    self.runs(packed_products.product(rows, lanes, 3, 32, packing))

    def test_groups_of_other_sizes(self) -> None:
        for groups, size in ((1, 32), (2, 64), (40, 16), (1, 128), (2, 40)):
            with self.subTest(groups=groups, size=size):
                self.runs(packed_products.product(2, 24, groups, size, _FORMS["q4_1"]))

    def test_what_follows_the_sums(self) -> None:
        self.runs(packed_products.product(2, 72, 2, 32, _Q4, _EPILOGUE, ("residual f32",)))

    def test_other_bytes_make_other_results(self) -> None:
        """The control: each operand matters."""
        product = packed_products.product(1, 16, 2, 32, _FORMS["int4, asymmetric"])
        data = packed_products.operands(product)
        right = packed_products.results(product, data)[RESULT]
        for number in (0, 1, 3, 4):
            changed = [array.copy() for array in data]
            changed[number][-1] += 1
            kernel = grouped.write(product, 128)
            self.run_on(kernel, changed, 128, {RESULT})
            self.assertFalse(np.array_equal(changed[RESULT].reshape(right.shape), right), number)

    def test_instructions_of_a_code(self) -> None:
        """At 256 bits, 64 lanes multiply two codes with eleven instructions."""
        one, two = (
            self.runs(packed_products.product(1, 64, groups, 32, _Q4), ((256, 256),))[0].executed
            for groups in (8, 16)
        )
        self.assertLess((two - one) / (8 * 32), 6.2)

    def test_weights_that_are_not_packed_are_others(self) -> None:
        with self.assertRaisesRegex(Unsupported, "not packed"):
            grouped.write(products.matmul(1, 64, 32), 256)


if __name__ == "__main__":
    unittest.main()
