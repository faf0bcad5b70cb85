"""Tests maximum poolings against NumPy."""

from __future__ import annotations

import unittest

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.layout import max_poolings

_MODEL = """func.func @main(%x: tensor<1x9x11x8x{t}>) -> tensor<1x{y}x{x}x8x{t}> {{
  %least = stablehlo.constant dense<{least}> : tensor<{t}>
  %0 = "stablehlo.reduce_window"(%x, %least) ({{
    ^bb0(%a: tensor<{t}>, %b: tensor<{t}>):
      %m = stablehlo.{op} %a, %b : tensor<{t}>
      stablehlo.return %m : tensor<{t}>
  }}) {{window_dimensions = array<i64: 1, {window[0]}, {window[1]}, 1>,
       window_strides = array<i64: 1, {stride[0]}, {stride[1]}, 1>,
       window_dilations = array<i64: 1, 1, {dilation}, 1>}}
    : (tensor<1x9x11x8x{t}>, tensor<{t}>) -> tensor<1x{y}x{x}x8x{t}>
  return %0 : tensor<1x{y}x{x}x8x{t}>
}}
"""
_LEAST = {"f32": "0xFF800000", "i8": "-128"}


class MaximaTest(support.OptimizedTest):
    def check(
        self,
        window: tuple[int, int],
        stride: tuple[int, int],
        element: str = "f32",
        dilation: int = 1,
        op: str = "maximum",
        least: str = "",
    ) -> str:
        """Runs a pooling after the rewrite; returns the rewritten text."""
        rng = np.random.default_rng(0)
        x: Array = (
            rng.standard_normal((9, 11, 8)).astype(np.float32)
            if element == "f32"
            else rng.integers(-128, 128, (9, 11, 8)).astype(np.int8)
        )
        reach = (window[0], (window[1] - 1) * dilation + 1)
        windows = np.lib.stride_tricks.sliding_window_view(x, reach, (0, 1))
        windows = windows[:: stride[0], :: stride[1], :, :, ::dilation]
        want = (np.max if op == "maximum" else np.min)(windows, axis=(3, 4))
        if element == "f32" and op == "maximum":
            # A NaN stays in every window that has one.
            x[4, 5, 2] = np.nan
            want = np.maximum(np.max(windows, axis=(3, 4)), np.float32(least or "-inf"))
        text = _MODEL.format(
            t=element,
            y=want.shape[0],
            x=want.shape[1],
            least=least or _LEAST[element],
            op=op,
            window=window,
            stride=stride,
            dilation=dilation,
        )
        rewritten = self.rewritten(text, max_poolings.apply)
        (got,) = self.run_rewritten(x[None])
        np.testing.assert_array_equal(got, want)
        return rewritten

    def test_slices(self) -> None:
        for element in ("f32", "i8"):
            text = self.check((2, 2), (2, 2), element)
            self.assertEqual(text.count("tensor.extract_slice"), 4)
            self.assertNotIn('"reduction"', text)
            self.assertIn("[0, 1, 0] [4, 5, 8] [2, 2, 1]", text)

    def test_windows_that_overlap(self) -> None:
        self.assertEqual(self.check((3, 3), (2, 2)).count("tensor.extract_slice"), 9)
        self.assertIn("[1, 2, 0] [8, 5, 8] [1, 2, 1]", self.check((2, 2), (1, 2), dilation=2))

    def test_a_start_that_is_not_the_least_number(self) -> None:
        text = self.check((2, 2), (2, 2), least="0.5")
        self.assertEqual(text.count("arith.maximumf"), 4)

    def test_others_stay_as_they_are(self) -> None:
        for text in (
            self.check((4, 3), (2, 2)),
            self.check((2, 2), (2, 2), op="minimum", least="0x7F800000"),
        ):
            self.assertNotIn("tensor.extract_slice", text)


if __name__ == "__main__":
    unittest.main()
