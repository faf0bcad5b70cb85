"""Tests transposed convolutions against convolutions of images with zeros, in NumPy."""

from __future__ import annotations

import unittest
from dataclasses import dataclass, replace

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.layout import transposed_convolutions

_MODEL = """func.func @main(%x: tensor<{image}x{t}>) -> tensor<{result}x{sum}> {{
  %w = stablehlo.constant dense<"0x{weight}"> : tensor<{window}x{t}>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = {order}, window = {{
      stride = {stride}, pad = [[{low[0]}, {high[0]}], [{low[1]}, {high[1]}]], lhs_dilate = {spread},
      rhs_dilate = {dilation}}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<{image}x{t}>, tensor<{window}x{t}>) -> tensor<{result}x{sum}>
  return %0 : tensor<{result}x{sum}>
}}
"""
_LAST = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
_FIRST = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"
_INPUTS, _OUTPUTS = 3, 8


@dataclass(frozen=True)
class _Case:
    """A transposed convolution of images of two axes; what is tried along each of them."""

    window: tuple[int, int]
    spread: tuple[int, int]
    low: tuple[int, int]
    high: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pixels: tuple[int, int] = (4, 5)

    @property
    def spread_pixels(self) -> list[int]:
        return [
            low + (pixels - 1) * spread + 1 + high
            for low, pixels, spread, high in zip(
                self.low, self.pixels, self.spread, self.high, strict=True
            )
        ]

    def run(self, x: Array, w: Array, dtype: type) -> Array:
        """Returns the result of an image [y, x, channel] and a window [y, x, input, output]."""
        image: Array = np.zeros((*self.spread_pixels, _INPUTS), dtype)
        places = [
            slice(low, low + (pixels - 1) * spread + 1, spread)
            for low, pixels, spread in zip(self.low, self.pixels, self.spread, strict=True)
        ]
        image[places[0], places[1]] = x
        reach = [(n - 1) * d + 1 for n, d in zip(self.window, self.dilation, strict=True)]
        windows = np.lib.stride_tricks.sliding_window_view(image, reach, (0, 1))
        steps = [slice(None, None, n) for n in (*self.stride, 1, *self.dilation)]
        return np.array(np.einsum("yxcij,ijcf->yxf", windows[tuple(steps)], w.astype(dtype)))


class SubpixelsTest(support.OptimizedTest):
    def check(self, case: _Case, element: str = "f32", *, first: bool = False) -> str:
        """Runs a convolution after the rewrite; returns the rewritten text."""
        is_float = element == "f32"
        rng = np.random.default_rng(0)
        shapes = (*case.pixels, _INPUTS), (*case.window, _INPUTS, _OUTPUTS)
        x, w = (
            rng.standard_normal(shape).astype(np.float32)
            if is_float
            else rng.integers(-128, 128, shape).astype(np.int8)
            for shape in shapes
        )
        want = case.run(x, w, np.float64 if is_float else np.int32)
        if first:
            x, w, want = (np.moveaxis(x, 2, 0), w.transpose(3, 2, 0, 1), np.moveaxis(want, 2, 0))
        text = _MODEL.format(
            t=element,
            sum="f32" if is_float else "i32",
            image="x".join(map(str, (1, *x.shape))),
            window="x".join(map(str, w.shape)),
            result="x".join(map(str, (1, *want.shape))),
            weight=w.tobytes().hex(),
            order=_FIRST if first else _LAST,
            low=case.low,
            high=case.high,
            **{name: list(getattr(case, name)) for name in ("stride", "spread", "dilation")},
        )
        rewritten = self.rewritten(text, transposed_convolutions.apply)
        (got,) = self.run_rewritten(x[None])
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 if is_float else 0)
        return rewritten

    def assertIsProduct(self, text: str, *parts: str) -> None:
        self.assertNotIn("insert_slice", text)
        for part in parts:
            self.assertIn(part, text)

    def test_windows_that_do_not_overlap(self) -> None:
        case = _Case((2, 2), (2, 2), (1, 1), (1, 1))
        for element, sums in (("f32", "f32"), ("i8", "i32")):
            text = self.check(case, element)
            # Four results of each pixel, and one product for all; nothing is padded or cut.
            self.assertIsProduct(text, f"tensor<4x2x5x2x8x{sums}>", f"tensor<3x2x2x8x{element}>")
            self.assertNotIn("tensor.pad", text)
            self.assertNotIn("extract_slice", text)

    def test_all_sizes(self) -> None:
        """Strides, windows and borders, the same and different along the axes."""
        for windows, spread, low, high in (
            ((3, 4), (2, 3), (1, 0), (2, 1)),
            ((3, 3), (2, 2), (0, 2), (1, 0)),
            ((5, 2), (2, 3), (2, 1), (3, 0)),
            ((4, 3), (3, 1), (3, 1), (0, 1)),
            ((1, 3), (3, 2), (2, 2), (1, 2)),
            ((2, 2), (3, 4), (1, 0), (0, 2)),
        ):
            case = _Case(windows, spread, low, high)
            with self.subTest(case=case):
                self.assertIsProduct(self.check(case))

    def test_phases_share_the_smallest_window(self) -> None:
        # With two taps of each phase instead of three: results begin one pixel earlier, and are cut.
        text = self.check(_Case((4, 4), (2, 2), (2, 2), (2, 2)))
        self.assertIsProduct(text, "tensor<2x2x3x2x2x8xf32>", "extract_slice")

    def test_channels_first(self) -> None:
        self.assertIsProduct(self.check(_Case((3, 2), (2, 3), (1, 2), (2, 0)), first=True))

    def test_others_stay_as_they_are(self) -> None:
        plain = _Case((3, 3), (2, 2), (1, 1), (2, 2))
        for case in (replace(plain, stride=(2, 1)), replace(plain, dilation=(1, 2))):
            with self.subTest(case=case):
                self.assertIn("insert_slice", self.check(case))


if __name__ == "__main__":
    unittest.main()
