"""Tests that every choice gives a right kernel, and which ones are proposed."""

from __future__ import annotations

import unittest

import numpy as np
import products
from kernel_case import KernelCase
from products import convolution, matmul, planes

from bmc.kernels.problem.product import Product
from bmc.kernels.problem.roles import arranged
from bmc.kernels.schedule import choice, gemm
from bmc.kernels.schedule.choice import DEFAULT, Choice, Proposal
from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.unsupported import Unsupported

_VLEN = 128


def proposals(product: Product, most: int = 24) -> tuple[Proposal, ...]:
    return choice.proposals(lambda chosen: gemm.write(product, _VLEN, chosen), most)


class ChoiceTest(KernelCase):
    def test_what_is_proposed_is_right(self) -> None:
        for product in (
            matmul(7, 40, 9),
            matmul(7, 40, 9, "i8"),
            convolution(5, 24, 3, "i8"),
            convolution(6, 24, 1, depthwise=True),
            planes(24, 9, 3),
        ):
            data = products.operands(product)
            right = products.expected(product, data)
            found = proposals(product)
            self.assertGreater(len(found), 2)
            for each in found:
                with self.subTest(choice=each.choice):
                    kernel = gemm.write(product, _VLEN, each.choice)
                    result, _ = self.run_kernel(kernel, data, _VLEN)
                    np.testing.assert_array_equal(result, right)

    def test_each_choice_is_taken(self) -> None:
        product = convolution(6, 64, 3)
        default = gemm.write(product, _VLEN)

        def changed(chosen: Choice) -> str:
            text = gemm.write(product, _VLEN, chosen).text
            self.assertNotEqual(text, default.text, chosen)
            return text

        self.assertNotIn(", m8,", changed(Choice(lmul=4)))
        self.assertIn("vse32.v v", changed(Choice(spills=True)))
        for chosen in (Choice(rows=1), Choice(reuses=False), Choice(unroll=1)):
            changed(chosen)
        self.assertEqual(gemm.write(product, _VLEN, DEFAULT), default)

    def test_proposals_differ_and_the_cheapest_come_first(self) -> None:
        product = convolution(6, 64, 3)
        default, *found = proposals(product)
        self.assertEqual(default.choice, DEFAULT)
        costs = [each.cost for each in found]
        self.assertEqual(costs, sorted(costs))
        texts = [gemm.write(product, _VLEN, each.choice).text for each in found]
        self.assertEqual(len(set(texts)), len(texts))
        self.assertNotIn(gemm.write(product, _VLEN).text, texts)
        self.assertEqual(proposals(product, 2), (default, *found[:2]))

    def test_bad_kernels_are_not_proposed(self) -> None:
        """The cost function says that some would take much longer."""

        def write(chosen: Choice) -> Kernel:
            if chosen.rows == 3:
                raise Unsupported("three rows")
            costs = {None: 100, 1: 1000, 2: 110}
            return Kernel(str(chosen), (), (), 0, executed=costs.get(chosen.rows, 120))

        rows = {each.choice.rows for each in choice.proposals(write, 1000)}
        self.assertIn(2, rows)
        self.assertIn(4, rows)
        self.assertFalse(rows & {1, 3})

    def test_what_a_kernel_does_not_have(self) -> None:
        Choice(lmul=4).require("lmul", "lanes")
        with self.assertRaisesRegex(Unsupported, "no choice of 'rows'"):
            Choice(lmul=4, rows=2).require("lmul", "lanes")
        it = matmul(7, 40, 9)
        with self.assertRaisesRegex(Unsupported, "loops that can be lanes"):
            arranged(it.dtypes, [*it.rows, it.lanes, *it.summed], {2}, None, it.epilogue, number=9)


if __name__ == "__main__":
    unittest.main()
