"""Tests which loops of a product become lanes."""

from __future__ import annotations

import unittest
from dataclasses import replace

from bmc.kernels.problem.product import A, B, Edge, Loop, Node, Padding
from bmc.kernels.problem.roles import arranged
from bmc.kernels.unsupported import Unsupported


def _short(loop: Loop) -> Loop:
    """Without its last operand."""
    return replace(loop, strides=loop.strides[:-1])


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

    def test_a_result_in_two_layouts(self) -> None:
        """Lanes are neighbors in one of them, and in what the epilogue reads."""
        loops = [
            Loop(5, (256, 0, 80, 4, 0)),
            Loop(20, (0, 4, 4, 20, 20)),
            Loop(64, (4, 80, 0, 0, 0)),
        ]
        sums = Node("sum", "f32")
        nodes = (sums, Node("store", "f32", (0,), operand=3), Node("bitcast", "f32", (0,)))
        product, swapped = arranged(
            ("f32",) * 4, [_short(loop) for loop in loops], {2}, None, nodes
        )
        self.assertFalse(swapped)
        self.assertEqual(product.lanes.extent, 20)
        self.assertEqual(product.strided, {3: 20})
        read = (sums, Node("load", "f32", operand=4), Node("addf", "f32", (0, 1)))
        with self.assertRaisesRegex(Unsupported, "lanes"):
            arranged(("f32",) * 5, loops, {2}, None, read)

    def test_channels_of_a_padded_image_whose_results_are_planes(self) -> None:
        """There are neighboring lanes in what a depthwise convolution reads, and none in what it writes."""
        loops = [
            Loop(16, (4, 4, 256), (0, 0)),
            Loop(8, (512, 0, 32), (1, 0)),
            Loop(8, (64, 0, 4), (0, 1)),
            Loop(3, (512, 192, 0), (1, 0)),
            Loop(3, (64, 64, 0), (0, 1)),
        ]
        padding = Padding(A, 0, (Edge(1, 8), Edge(1, 8)), -576)
        nodes = (Node("sum", "f32"),)
        product, swapped = arranged(("f32",) * 3, loops, {3, 4}, None, nodes, padding)
        self.assertFalse(swapped)
        self.assertEqual(product.lanes, loops[0])
        self.assertEqual(product.padding, padding)

    def test_lines_of_two_padded_images(self) -> None:
        """They follow each other in memory, but the second image begins with another border."""
        loops = [
            Loop(2, (0, 24, 64), (0, 0)),
            Loop(2, (0, 12, 32), (1, 0)),
            Loop(8, (0, 4, 4), (0, 1)),
            Loop(3, (8, 12, 0), (1, 0)),
            Loop(2, (4, 12, 0), (0, 3)),
        ]
        padding = Padding(B, 0, (Edge(1, 2), Edge(4, 3)), -28)
        nodes = (Node("sum", "f32"),)
        product, _ = arranged(("f32",) * 3, loops, {3, 4}, None, nodes, padding)
        self.assertEqual(product.lanes, loops[2])
        self.assertEqual(product.outer, tuple(loops[:2]))


if __name__ == "__main__":
    unittest.main()
