"""Runs kernels whose lanes are apart in memory."""

from __future__ import annotations

import re
import unittest
from dataclasses import replace

from kernel_case import KernelCase
from products import planes

from bmc.kernels.problem.product import Loop
from bmc.kernels.schedule import gemm
from bmc.kernels.schedule.choice import Choice


class ColumnsTest(KernelCase):
    def test_neighbors_that_are_no_lanes_share_a_load(self) -> None:
        """Channels of a pixel, or columns of a window that skips pixels: all of them are in the image."""
        for size, rows, gap, channels in (
            (8, 1, 2, 1), (40, 5, 2, 1), (24, 9, 3, 3), (100, 7, 6, 9), (40, 2, 3, 5), (24, 12, 7, 130),
        ):  # fmt: skip
            product = planes(size, rows, 1, "i8", gap)
            line = (size + 2) * gap
            sums = (
                Loop(3, (3 * channels, line + channels, 0, 0, 0, 0)),
                Loop(channels, (1, 1, 0, 0, 0, 0)),
            )
            for stride in (1, 3):
                inner = replace(sums[1], strides=(stride, *sums[1].strides[1:]))
                with self.subTest(size=size, gap=gap, channels=channels, stride=stride):
                    self.agrees(replace(product, summed=(sums[0], inner)))
        text = gemm.write(planes(24, 9, 1, "i8", 3), 256).text
        self.assertNotIn("vlsseg", text)

    def test_lanes_that_are_apart_are_read_for_more_rows(self) -> None:
        """In smaller groups, of which more stay in registers."""
        for gap, group in ((1, "m8"), (6, "m4")):
            text = gemm.write(planes(128, 12, 1, "i8", gap), 256, Choice(widens=False)).text
            self.assertEqual(set(re.findall(r"e32, (m\d)", text)), {group})


if __name__ == "__main__":
    unittest.main()
