"""Runs products with packed weights, and compares them with NumPy's."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from dataclasses import replace

import kernel_case
import numpy as np
import packed_products
import products
from products import Array

from bmc.cores import core as cores
from bmc.kernels.problem.product import RESULT, A, B, Loop, Node, Product
from bmc.kernels.schedule import fastest, grouped, grouped_bytes, grouped_floats
from bmc.kernels.tree import cycles
from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.unsupported import Unsupported

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


class GroupedCase(kernel_case.KernelCase):
    WRITE: Callable[[Product, int], Kernel] = staticmethod(grouped.write)

    def runs(
        self,
        product: Product,
        vlens: tuple[tuple[int, int], ...] = _HARTS,
        data: list[Array] | None = None,
    ) -> list[Kernel]:
        """Compares results of a product; returns its kernels."""
        data = data or packed_products.operands(product)
        right = packed_products.results(product, data)[RESULT]
        kernels = []
        for vlen, hart in vlens:
            with self.subTest(vlen=vlen, hart=hart):
                kernel = self.WRITE(product, vlen)
                copies = [array.copy() for array in data]
                self.run_on(kernel, copies, hart, {RESULT})
                np.testing.assert_array_equal(copies[RESULT].reshape(right.shape), right)
                kernels.append(kernel)
        return kernels

    def runs_in_parts(self, product: Product) -> None:
        """Compares results where lanes or rows are several loops, as if the results had gaps."""
        (rows,), lanes = product.rows, product.lanes
        data = packed_products.operands(product)
        right = packed_products.results(product, data)[RESULT]
        for part in (
            replace(product, outer=(_times(lanes, 24, 3),), lanes=replace(lanes, extent=24)),
            replace(product, outer=(_times(rows, 2, 2),), rows=(replace(rows, extent=2),)),
        ):
            copies = [array.copy() for array in data]
            self.run_on(self.WRITE(part, 256), copies, 256, {RESULT})
            np.testing.assert_array_equal(copies[RESULT].reshape(right.shape), right)

    def notices(self, product: Product, numbers: tuple[int, ...]) -> None:
        """Asserts that a change of the last element of operands changes the results."""
        data = packed_products.operands(product)
        right = packed_products.results(product, data)[RESULT]
        for number in numbers:
            changed = [array.copy() for array in data]
            changed[number][-1] += 1
            self.run_on(self.WRITE(product, 128), changed, 128, {RESULT})
            self.assertFalse(np.array_equal(changed[RESULT].reshape(right.shape), right), number)


def _times(loop: Loop, factor: int, extent: int) -> Loop:
    """A loop around one of `factor` iterations."""
    return Loop(extent, tuple(factor * stride for stride in loop.strides))


class GroupedTest(GroupedCase):
    def test_forms(self) -> None:
        for name, packing in _FORMS.items():
            for rows, lanes in ((1, 72), (3, 40)):
                with self.subTest(name, rows=rows, lanes=lanes):
                    self.runs(packed_products.product(rows, lanes, 3, 32, packing))

    def test_several_loops_over_results(self) -> None:
        self.runs_in_parts(packed_products.product(4, 72, 2, 32, _Q4))

    def test_groups_of_other_sizes(self) -> None:
        for groups, size in ((1, 32), (2, 64), (40, 16), (1, 128), (2, 40)):
            with self.subTest(groups=groups, size=size):
                self.runs(packed_products.product(2, 24, groups, size, _FORMS["q4_1"]))

    def test_what_follows_the_sums(self) -> None:
        self.runs(packed_products.product(2, 72, 2, 32, _Q4, _EPILOGUE, ("residual f32",)))

    def test_other_bytes_make_other_results(self) -> None:
        """The control: each operand matters."""
        self.notices(
            packed_products.product(1, 16, 2, 32, _FORMS["int4, asymmetric"]), (0, 1, 3, 4)
        )

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


class BytesTest(GroupedCase):
    WRITE = staticmethod(grouped_bytes.write)

    def test_forms(self) -> None:
        for zero, mins in ((8, False), (0, True), (8, True), (0, False)):
            packing = packed_products.form(4, zero, mins, factors=True)
            for rows, lanes, groups in ((1, 72, 3), (3, 40, 2), (5, 200, 2), (1, 300, 2)):
                with self.subTest(zero=zero, mins=mins, rows=rows, lanes=lanes):
                    self.runs(packed_products.product(rows, lanes, groups, 32, packing))

    def test_several_loops_over_results(self) -> None:
        packing = packed_products.form(4, mins=True, factors=True)
        self.runs_in_parts(packed_products.product(4, 72, 2, 32, packing))

    def test_the_largest_sums_fit(self) -> None:
        """Sums of codes without sign would be twice as large as 16 bits hold."""
        for zero in (0, 8):
            packing = packed_products.form(4, zero, factors=True)
            product = packed_products.product(2, 24, 2, 32, packing)
            for byte in (0x00, 0x0F, 0xF0, 0xFF):
                data = packed_products.operands(product)
                data[A][:], data[A][-64:] = 127, -127
                data[B][:] = np.uint8(byte).view(np.int8)
                self.runs(product, data=data)

    def test_larger_groups_are_refused(self) -> None:
        """The control: their sums would not fit."""
        packing = packed_products.form(4, 8, factors=True)
        with self.assertRaisesRegex(Unsupported, "more than 32"):
            grouped_bytes.write(packed_products.product(1, 24, 1, 64, packing), 256)
        for other in (packed_products.form(4, 8), packed_products.form(8, factors=True)):
            with self.assertRaisesRegex(Unsupported, "not one of bytes"):
                grouped_bytes.write(packed_products.product(1, 24, 1, 32, other), 256)

    def test_what_follows_the_sums(self) -> None:
        packing = packed_products.form(4, 8, factors=True)
        nodes = (_EPILOGUE[0], replace(_EPILOGUE[1], operand=5), *_EPILOGUE[2:])
        self.runs(packed_products.product(2, 72, 2, 32, packing, nodes, ("residual f32",)))

    def test_other_bytes_make_other_results(self) -> None:
        packing = packed_products.form(4, 8, True, factors=True)
        self.notices(packed_products.product(1, 16, 2, 32, packing), (0, 1, 3, 4, 5))

    def test_instructions_of_a_code(self) -> None:
        """At 256 bits, 128 lanes multiply two codes with eight instructions."""
        packing = packed_products.form(4, 8, factors=True)
        one, two = (
            self.runs(packed_products.product(1, 128, groups, 32, packing), ((256, 256),))
            for groups in (8, 16)
        )
        self.assertLess((two[0].executed - one[0].executed) / (8 * 32 * 2), 3.1)


class FloatsTest(GroupedCase):
    WRITE = staticmethod(grouped_floats.write)

    def test_forms(self) -> None:
        for name, packing in _FORMS.items():
            for rows, lanes in ((3, 40), (5, 200), (9, 72)):
                with self.subTest(name, rows=rows, lanes=lanes):
                    self.runs(packed_products.product(rows, lanes, 2, 32, packing))

    def test_several_loops_over_results(self) -> None:
        self.runs_in_parts(packed_products.product(4, 72, 2, 32, _Q4))

    def test_weights_in_two_groups_in_turn(self) -> None:
        product = packed_products.product(4, 72, 2, 32, _Q4)
        data = packed_products.operands(product)
        right = packed_products.results(product, data)[RESULT]
        kernels = [grouped_floats.write(product, 256, loads) for loads in (1, 2)]
        for kernel in kernels:
            copies = [array.copy() for array in data]
            self.run_on(kernel, copies, 256, {RESULT})
            np.testing.assert_array_equal(copies[RESULT].reshape(right.shape), right)
        one, two = (cycles.of_kernel(each.nodes, cores.find("ara")) for each in kernels)
        self.assertLess(two, one)

    def test_rows_whose_sums_do_not_fit_at_once(self) -> None:
        (kernel,) = self.runs(packed_products.product(96, 64, 1, 32, _Q4), ((256, 256),))
        self.assertLess(kernel.scratch, 32 * 1024)

    def test_what_follows_the_sums(self) -> None:
        self.runs(packed_products.product(4, 72, 2, 32, _Q4, _EPILOGUE, ("residual f32",)))

    def test_other_bytes_make_other_results(self) -> None:
        self.notices(
            packed_products.product(2, 16, 2, 32, _FORMS["int4, asymmetric"]), (0, 1, 3, 4)
        )

    def test_many_rows_take_few_instructions_more_than_f32(self) -> None:
        packed = packed_products.product(32, 576, 18, 32, _Q4)
        floats = products.matmul(32, 576, 576)
        packed_kernel, kernel = grouped_floats.write(packed, 256), fastest.write(floats, 256)
        self.assertLess(packed_kernel.executed, 1.15 * kernel.executed)

    def test_others_are_refused(self) -> None:
        for rows, size, factors in ((1, 32, False), (4, 4096, False), (4, 32, True)):
            packing = packed_products.form(4, 8, factors=factors)
            with self.assertRaises(Unsupported):
                grouped_floats.write(packed_products.product(rows, 16, 1, size, packing), 256)


if __name__ == "__main__":
    unittest.main()
