"""Tests which lanes are masked where they are pixels of a padded image."""

from __future__ import annotations

import contextlib
import re
import unittest
from dataclasses import replace
from functools import partial

import numpy as np
from kernel_case import KernelCase
from products import operands, padded_planes

from bmc.kernels.schedule import gemm
from bmc.kernels.schedule.choice import Choice
from bmc.kernels.unsupported import Unsupported


class MasksTest(KernelCase):
    def test_lanes_go_on_in_the_next_line(self) -> None:
        """Lines of 20 pixels fill groups of 64 lanes."""
        product = padded_planes((16, 20), 6, 4, "i8", value=-3)
        self.assertEqual([loop.extent for loop in product.grid], [16, 20])
        self.assertEqual(product.lanes.extent, 320)
        self.agrees(product)
        lines = padded_planes((16, 20), 6, 4, "i8", stride=2)
        self.assertEqual([loop.extent for loop in lines.grid], [10])
        self.agrees(lines)

    def test_each_lane_is_an_image(self) -> None:
        """Both edges are crossed by loops around everything, and a line begins where the one before it did."""
        for dtype in ("f32", "i8"):
            product = padded_planes((5, 3), 2, 1, dtype, stride=2, images=64)
            self.assertEqual([loop.extent for loop in product.grid], [64])
            self.assertEqual([loop.extent for loop in product.outer], [3, 2])
            self.agrees(product)

    def test_lanes_go_on_in_the_next_image(self) -> None:
        """Columns of three pixels of three images are lanes; their place in a line is the same in all images."""
        product = padded_planes((6, 7), 5, 3, stride=2, low=(0, 1), pixels=True, images=3)
        self.assertEqual([loop.extent for loop in product.grid], [3, 3])
        self.agrees(product)

    def test_images_with_more_lanes_than_their_bits_can_divide(self) -> None:
        """In 16 bits, numbers of lanes are divided by 63 up to 1,394. More have no kernel, or one that is right."""
        found = []
        for height in (16, 40):
            product = padded_planes((height, 63), 1, 1, "f16")
            self.assertEqual((product.scheme.bits, product.lanes.extent), (16, height * 63))
            with contextlib.suppress(Unsupported):
                gemm.write(product, 256)
                found.append(height)
                self.agrees(product, ((256, 256),))
        self.assertIn(16, found)

    def test_most_panels_have_few_masks(self) -> None:
        """Panels in the middle of the image need three masks instead of nine."""

        def executed(height: int) -> int:
            product = padded_planes((height, 32), 3, 8)
            kernel = gemm.write(product, 256)
            return self.run_kernel(kernel, operands(product), 256)[1].executed

        # Two lines are a panel. The first and the last one are near an edge.
        inner = (executed(18) - executed(10)) / 4
        outer = (executed(10) - 3 * inner) / 2
        self.assertLess(inner, 0.95 * outer)

    def test_masked_loads_take_groups_in_turn(self) -> None:
        """Each group holds the pad value before a load with another mask."""
        for dtype, value in (("f32", 0), ("i8", -3)):
            product = padded_planes((16, 20), 6, 4, dtype, value=value)
            choice = Choice(loads=2, lmul=4, widens=False)
            self.agrees(product, write=partial(gemm.write, choice=choice))
            kernel = gemm.write(product, 256, choice)
            wide = "vle32.v" if dtype == "f32" else "vsext.vf2"
            groups = set(re.findall(rf"^{wide} (v\d+), .*v0\.t$", kernel.text, re.MULTILINE))
            self.assertEqual(len(groups), 2)
            # A group that keeps what was loaded with the mask before: something as long sets the other one twice.
            kept, other = sorted(groups)
            stale = re.sub(rf"^(vmv\.v\.[ix]) {kept},", rf"\1 {other},", kernel.text, flags=re.M)
            self.assertNotEqual(stale, kernel.text)
            data = operands(product)
            right, _ = self.run_kernel(kernel, data, 256)
            wrong, _ = self.run_kernel(replace(kernel, text=stale), data, 256)
            self.assertFalse(np.array_equal(right, wrong))

    def test_without_masks_lanes_read_other_lines(self) -> None:
        product = padded_planes((16, 20), 6, 4, "i8", value=-3)
        kernel = gemm.write(product, 256)
        text = re.sub(r"^(v[ls].*), v0\.t$", r"\1", kernel.text, flags=re.MULTILINE)
        self.assertNotEqual(text, kernel.text)
        with self.assertRaisesRegex(AssertionError, "in no operand"):
            self.run_kernel(replace(kernel, text=text), operands(product), 256)

    def test_what_has_no_masks(self) -> None:
        wide = padded_planes((4, 40), 4, 3, low=(1, 3), high=(1, 3), window=(3, 7))
        with self.assertRaisesRegex(Unsupported, "large window"):
            gemm.write(wide, 256)


if __name__ == "__main__":
    unittest.main()
