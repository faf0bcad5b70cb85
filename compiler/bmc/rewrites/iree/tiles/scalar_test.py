"""Tests the tile sizes of sums of products without vectors."""

from __future__ import annotations

import unittest

import convolutions
import support

from bmc.ir.contraction import Axis, Contraction
from bmc.rewrites.iree.tiles import scalar
from bmc.rewrites.iree.tiles.root import Levels, Root


def choose(
    element: str, rows: int, columns: int, *, is_dense: bool = True, soft_float: bool = False
) -> Levels:
    """Chooses for a product of matrices, or for sums in which each column has numbers of its own."""
    product = Contraction((Axis(0), Axis(2 if is_dense else 1)), (2, 1), (0, 1))
    accumulator = "f32" if element == "f32" else "i32"
    operands = tuple(((), each) for each in (element, element, accumulator))
    loops, result = (rows, columns, 9), (rows, columns)
    root = Root("linalg.generic", operands, result, (), loops, {}, (), product, loops)
    return scalar.choose(root, soft_float=soft_float)


class ScalarTest(support.FolderTest):
    def test_sums_of_a_convolution_stay_in_registers(self) -> None:
        for isa, element, tile in (
            ("rv32imc", "i8", (1, 1, 2, 4)),
            ("rv64gc", "i8", (1, 1, 2, 4)),
            ("rv64gc", "f32", (1, 1, 4, 4)),
        ):
            text = convolutions.text(element, 16)
            configs = support.lower_text(text, self.folder, isa).lowered.configs
            chosen = next(config for config in configs if "conv" in config.function)
            self.assertEqual(chosen.origin, "bmc")
            self.assertEqual(chosen.applied["vector_common_parallel"], (*tile, 0, 0, 0), isa)
            self.assertEqual(chosen.applied["vector_reduction"], (0, 0, 0, 0, 1, 1, 1))
            self.assertEqual(chosen.applied["distribution"], (1, 16, 16, 16, 0, 0, 0))

    def test_a_tile_divides_the_loops(self) -> None:
        for rows, columns, tile in (
            (15, 9, (3, 3)),
            (1, 640, (1, 8)),
            (7, 7, (1, 7)),
            (13, 1, (1, 1)),
        ):
            self.assertEqual(choose("i8", rows, columns)["vector_common_parallel"], (*tile, 0))

    def test_pixels_of_a_depthwise_convolution_share_weights(self) -> None:
        levels = choose("i8", 5, 64, is_dense=False)
        self.assertEqual(levels["vector_common_parallel"], (5, 2, 0))

    def test_products_that_are_calls_are_left_to_iree(self) -> None:
        self.assertEqual(choose("f32", 8, 8, soft_float=True), {})
        self.assertEqual(choose("f32", 8, 8)["vector_common_parallel"], (4, 4, 0))
        self.assertNotEqual(choose("i8", 8, 8, soft_float=True), {})


if __name__ == "__main__":
    unittest.main()
