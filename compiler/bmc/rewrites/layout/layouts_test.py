"""Tests which layout of an image costs less."""

from __future__ import annotations

import unittest
from typing import Any

from iree.compiler import ir

from bmc.ir.contraction import Axis, Contraction
from bmc.kernels.problem.product import Loop, Node
from bmc.kernels.problem.roles import arranged
from bmc.kernels.unsupported import Unsupported
from bmc.rewrites.layout import layouts

_PIXELS, _PLANES = (0, 1, 2), (2, 0, 1)
# result[y, x, f] = sum over i, j, c of image[y + i, x + j, c] * weights[i, j, c, f]
_CONVOLUTION = Contraction((Axis(0, 1, 3), Axis(1, 1, 4), Axis(5)), (3, 4, 5, 2), (0, 1, 2))
_DEPTHWISE = Contraction((Axis(0, 1, 3), Axis(1, 1, 4), Axis(2)), (3, 4, 2), (0, 1, 2))


class LayoutsTest(unittest.TestCase):
    def costs(
        self,
        size: int,
        channels: int,
        dtype: str = "f32",
        depthwise: bool = False,
        vlen: int = 256,
        dot_channels: int = 0,
    ) -> tuple[float, float]:
        """Returns the costs of a window of 3x3 with pixels and with planes."""
        weights = [3, 3, channels] if depthwise else [3, 3, channels, channels]
        found = _DEPTHWISE if depthwise else _CONVOLUTION

        def cost(order: tuple[int, ...]) -> float:
            with ir.Context(), ir.Location.unknown():
                element = ir.Type.parse(dtype)
                sums = element if dtype == "f32" else ir.Type.parse("i32")
                types: Any = (
                    ir.RankedTensorType.get([size + 2, size + 2, channels], element),
                    ir.RankedTensorType.get(weights, element),
                    ir.RankedTensorType.get([size, size, channels], sums),
                )
                orders = (order, order)
                return layouts.cost(
                    found, types, orders, vlen, gaps=True, dot_channels=dot_channels
                )

        return cost(_PIXELS), cost(_PLANES)

    def test_planes_for_few_channels_of_many_pixels(self) -> None:
        for dtype in ("f32", "i8"):
            for depthwise in (False, True):
                with self.subTest(dtype=dtype, depthwise=depthwise):
                    pixels, planes = self.costs(48, 8, dtype, depthwise)
                    self.assertGreater(pixels, 1.5 * planes)
                    pixels, planes = self.costs(16, 64, dtype, depthwise)
                    self.assertLess(pixels, planes)

    def test_dot_products_want_pixels(self) -> None:
        pixels, planes = self.costs(48, 8, "i8", dot_channels=1)
        self.assertLess(pixels, planes)
        # With too few channels there are none.
        self.assertEqual(self.costs(48, 3, "i8", dot_channels=4), self.costs(48, 3, "i8"))
        self.assertNotEqual(self.costs(48, 4, "i8", dot_channels=4), self.costs(48, 4, "i8"))
        # There are none of floats, and none for depthwise convolutions.
        self.assertEqual(self.costs(48, 8, "f32", dot_channels=1), self.costs(48, 8, "f32"))
        self.assertEqual(
            self.costs(48, 8, "i8", True, dot_channels=1), self.costs(48, 8, "i8", True)
        )

    def test_longer_vectors_want_longer_lanes(self) -> None:
        pixels, planes = self.costs(112, 32)
        ratio = pixels / planes
        pixels, planes = self.costs(112, 32, vlen=1024)
        self.assertGreater(pixels / planes, 1.5 * ratio)

    def test_what_has_no_kernel_is_expensive(self) -> None:
        # Too few lanes in either layout.
        pixels, planes = self.costs(4, 4)
        self.assertEqual(pixels, planes)
        self.assertGreater(pixels, 0.25 * 4 * 4 * 4 * 9 * 4)

    def test_a_window_that_is_too_wide_for_the_padding_reads_a_copy(self) -> None:
        with ir.Context(), ir.Location.unknown():
            element = ir.F32Type.get()
            for width, copies in ((5, False), (9, True)):
                image, padded, weights, result = (
                    ir.RankedTensorType.get(shape, element)
                    for shape in ([48, 48, 8], [50, 47 + width, 8], [3, width, 8, 8], [48, 48, 8])
                )
                orders, sides = (_PLANES, _PLANES), (1, width // 2, 0)
                through = layouts.cost(
                    _CONVOLUTION, (image, weights, result), orders, 256, False, sides, sides
                )
                copied = layouts.cost(
                    _CONVOLUTION, (padded, weights, result), orders, 256, gaps=False
                )
                copied += 4 * 50 * (47 + width) * 8
                self.assertEqual(through == copied, copies)

    def test_lanes_that_are_far_apart(self) -> None:
        """Rows of a product with its second operand transposed: only where there are few columns."""

        def lanes(columns: int) -> Loop:
            loops = [Loop(12, (128, 0, 256)), Loop(columns, (0, 128, 4)), Loop(32, (4, 4, 0))]
            sums = (Node("sum", "f32"),)
            return arranged(("f32",) * 3, loops, {2}, None, sums)[0].lanes

        self.assertEqual(lanes(7), Loop(12, (0, 128, 256)))
        with self.assertRaisesRegex(Unsupported, "lanes"):
            lanes(8)


if __name__ == "__main__":
    unittest.main()
