"""Tests products in K blocks, for each of which `b` is widened."""

from __future__ import annotations

import math
import re
import unittest
from dataclasses import replace

import numpy as np
from kernel_case import KernelCase
from products import SUM, convolution, expected, matmul, operands, padded, padded_planes, planes

from bmc.kernels.problem.product import Node, Product
from bmc.kernels.schedule import gemm
from bmc.kernels.schedule.choice import Choice
from bmc.kernels.schedule.k_blocks import k_blocked
from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.unsupported import Unsupported

_VLENS = ((256, 256), (128, 512))


def staged(product: Product, vlen: int) -> Kernel:
    return gemm.write(product, vlen, Choice(widens=True))


class ChunksTest(KernelCase):
    def test_matrices(self) -> None:
        """Rows and lanes that make several groups and panels, and K blocks of a few steps."""
        for rows, lanes, sums, groups in (
            (7, 64, 256, 1),
            (70, 40, 265, 1),
            (3, 100, 512, 1),
            (130, 64, 256, 5),
        ):
            with self.subTest(rows=rows, lanes=lanes):
                product = matmul(rows, lanes, sums, "i8")
                first = next(k_blocked(product, min(lanes, 64)))
                loops = first.product.rows
                self.assertEqual(math.prod(each.extent for each in loops[: -first.group]), groups)
                self.agrees(product, _VLENS, staged)

    def test_images(self) -> None:
        self.agrees(convolution(4, 24, 45, "i8", stride=2), _VLENS, staged)
        for size, channels, value, more in (
            ((6, 5), 24, -7, {}),
            ((17, 6), 48, 0, {"low": (0, 2), "high": (0, 2), "window": (1, 5)}),
            ((9, 7), 24, 5, {"stride": 2}),
        ):
            with self.subTest(size=size):
                self.agrees(padded(size, 40, channels, "i8", value=value, **more), _VLENS, staged)

    def test_groups_of_lines_of_a_padded_image(self) -> None:
        """The second group begins five lines below the first one, as far from the edges."""
        product = padded((10, 8), 64, 24, "i8", value=-7)
        first = next(k_blocked(product, 64))
        self.assertEqual([loop.extent for loop in first.product.rows], [2, 5, 8])
        self.agrees(product, ((256, 256),), staged)

    def test_what_is_around_the_sums(self) -> None:
        """First values of the sums, and an epilogue that moves from row to row."""
        nodes = (SUM, Node("load", "i32", operand=4), Node("addi", "i32", (0, 1)))
        product = matmul(21, 72, 180, "i8", nodes, ("i32", "residual i32"))
        self.agrees(replace(product, initial=3), _VLENS, staged)

    def test_it_takes_fewer_instructions(self) -> None:
        product = matmul(48, 64, 384, "i8")
        executed = []
        for stages in (False, True):
            kernel = gemm.write(product, 256, Choice(widens=stages))
            executed.append(self.run_kernel(kernel, operands(product), 256)[1].executed)
        self.assertLess(executed[1], 0.96 * executed[0])
        self.assertEqual(gemm.write(product, 256).text, staged(product, 256).text)
        # Few rows do not make up for the copy.
        few = matmul(6, 64, 384, "i8")
        self.assertNotEqual(gemm.write(few, 256).text, staged(few, 256).text)

    def test_sums_go_on(self) -> None:
        """With sums that start from zeros in each turn, only the last one would count."""
        product = matmul(5, 64, 256, "i8")
        kernel = staged(product, 256)
        before, block = kernel.text.split("vmv.v.i", 1)
        forgets = re.sub(r"vle32\.v (v\d+), \(x\d+\)", r"vmv.v.i \1, 0", block)
        self.assertNotEqual(forgets, block)
        data = operands(product)
        for text, right in ((block, True), (forgets, False)):
            changed = replace(kernel, text=f"{before}vmv.v.i{text}")
            result, _ = self.run_kernel(changed, data, 256)
            self.assertEqual(np.array_equal(result, expected(product, data)), right)

    def test_no_k_blocks_without_spills(self) -> None:
        product = matmul(48, 64, 384, "i8")
        with self.assertRaisesRegex(Unsupported, "widened panel"):
            gemm.write(product, 256, Choice(widens=True, spills=False))
        never = gemm.write(product, 256, Choice(spills=False))
        self.assertEqual(
            never.text, gemm.write(product, 256, Choice(widens=False, spills=False)).text
        )
        self.assertEqual(never.scratch, 0)
        self.assertGreater(gemm.write(product, 256).scratch, 0)

    def test_a_group_of_rows_fits(self) -> None:
        for rows, lanes in ((1225, 64), (289, 64), (7, 32), (3136, 24)):
            for each in k_blocked(matmul(rows, lanes, 64, "i8"), lanes):
                loops = each.product.rows
                group = math.prod(loop.extent for loop in loops[-each.group :])
                self.assertLessEqual(4 * lanes * group, 16 * 1024)
                self.assertEqual(math.prod(loop.extent for loop in loops), rows)
                self.assertEqual(each.loop.extent * each.product.summed[0].extent, 64)

    def test_what_has_no_k_blocks(self) -> None:
        for product, reason in (
            (padded_planes((16, 24), 8, 90, "i8"), "a padded image"),
            (planes(64, 8, 90, "i8"), "initial value for each row"),
            (padded((3, 90), 64, 96, "i8"), "a long line"),
            (replace(matmul(8, 64, 200, "i8"), rows=()), "one row"),
        ):
            with self.subTest(reason=reason), self.assertRaisesRegex(Unsupported, reason):
                staged(product, 256)


if __name__ == "__main__":
    unittest.main()
