"""Tests which loops of a product become lanes."""

from __future__ import annotations

import unittest

from bmc.kernels.product import Loop, Node, arranged


class ArrangedTest(unittest.TestCase):
    def lanes(self, pixels: int, channels: int) -> Loop:
        """Returns the lanes of a product of planes whose results are every second pixel of planes."""
        loops = [
            Loop(channels, (0, 4, 8 * pixels)),
            Loop(pixels, (4, 0, 8)),
            # The sum over 16 planes.
            Loop(16, (4 * pixels, 4 * channels, 0)),
        ]
        product, swapped = arranged(("f32",) * 3, loops, {2}, None, (Node("sum", "f32"),))
        # Lanes move along the operand that is the second one of the product.
        self.assertEqual(swapped, product.lanes.strides[1] == 4 and product.lanes.extent == pixels)
        return product.lanes

    def test_pixels_with_gaps_if_there_are_more_than_channels(self) -> None:
        self.assertEqual(self.lanes(48, 16).extent, 48)
        self.assertEqual(self.lanes(12, 16).extent, 16)

    def test_lines_that_are_longer_than_there_are_lanes(self) -> None:
        for inner, columns, long in ((128, 8, True), (8, 128, False)):
            line = 4 * inner
            loops = [Loop(columns, (line, 0, 4)), Loop(inner, (4, 4, 0))]
            product, _ = arranged(("f32",) * 3, loops, {1}, None, (Node("sum", "f32"),))
            self.assertEqual(product.has_long_lines, long)
            # Neither are lanes far apart then, nor are the numbers of a sum neighbors.
            loops = [Loop(columns, (4, 0, 4)), Loop(inner, (4 * columns, 4, 0))]
            product, _ = arranged(("f32",) * 3, loops, {1}, None, (Node("sum", "f32"),))
            self.assertFalse(product.has_long_lines)


if __name__ == "__main__":
    unittest.main()
