"""Tests windows that leave elements over, and their counts, by what IREE computes. NumPy's are right."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.rewrites.meaning import windows

_REDUCE = """  {result} = "stablehlo.reduce_window"({image}, %zero) <{{
      window_dimensions = array<i64: 1, {size}, {size}, 1>, window_strides = array<i64: 1, {stride}, {stride}, 1>,
      window_dilations = array<i64: 1, {dilation}, 1, 1>,
      padding = dense<[[0, 0], [{low}, {high}], [0, 0], [0, 0]]> : tensor<4x2xi64>}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %sum = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }}) : (tensor<1x{rows}x{rows}x2xf32>, tensor<f32>) -> tensor<{to}xf32>
"""
_CONVOLUTION = """  {result} = stablehlo.convolution({image}, %w)
    dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [{stride}, {stride}], pad = [[{low}, {high}], [0, 0]], rhs_dilate = [{dilation}, 1]}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<1x{rows}x{rows}x2xf32>, tensor<{size}x{size}x2x2xf32>) -> tensor<{to}xf32>
"""
_MODEL = """func.func @main(%x: tensor<1x{rows}x{rows}x2xf32>) -> tensor<{to}xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %w = stablehlo.constant dense<1.0> : tensor<{size}x{size}x2x2xf32>
{body}  return %r : tensor<{to}xf32>
}}
"""
# Averages as TensorFlow writes them, which pads by nothing.
_COUNTED = (
    _REDUCE.replace("{result}", "%sums").replace("{image}", "%x")
    + """  %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<1x{rows}x{rows}x2xf32>
  %same = stablehlo.pad %ones, %zero, low = [0, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0]
    : (tensor<1x{rows}x{rows}x2xf32>, tensor<f32>) -> tensor<1x{rows}x{rows}x2xf32>
"""
    + _REDUCE.replace("{result}", "%counts").replace("{image}", "%same")
    + "  %r = stablehlo.divide %sums, %counts : tensor<{to}xf32>\n"
)
_SUMS = _REDUCE.replace("{result}", "%r").replace("{image}", "%x")
_PRODUCTS = _CONVOLUTION.replace("{result}", "%r").replace("{image}", "%x")
# Elements spread by 2, in one window that leaves some over.
_SPREAD = """func.func @main(%x: tensor<4xi32>) -> tensor<1xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 9>,
      base_dilations = array<i64: 2>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
    }) : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
  return %r : tensor<1xi32>
}
"""
# Sums from 7 on, and products from 2 on, of windows that padding is part of.
_STARTED = """func.func @main(%x: tensor<4x{type}>) -> tensor<4x{type}> {{
  %start = stablehlo.constant dense<{start}> : tensor<{type}>
  %r = "stablehlo.reduce_window"(%x, %start) <{{window_dimensions = array<i64: 3>, window_strides = array<i64: 1>,
      padding = dense<1> : tensor<1x2xi64>}}> ({{
    ^bb0(%a: tensor<{type}>, %b: tensor<{type}>):
      %both = stablehlo.{op} %a, %b : tensor<{type}>
      stablehlo.return %both : tensor<{type}>
    }}) : (tensor<4x{type}>, tensor<{type}>) -> tensor<4x{type}>
  return %r : tensor<4x{type}>
}}
"""


class WindowsTest(support.FolderTest):
    def computed(self, text: str, x: Array) -> Array:
        """Returns what IREE computes of one array."""
        (result,) = self.on_host(text, x)
        return result

    def check(
        self,
        body: str,
        rows: int,
        size: int,
        stride: int,
        padding: Sequence[int] = (0, 0),
        dilation: int = 1,
    ) -> None:
        """Compares what IREE computes of random numbers."""
        image = np.random.default_rng(0).standard_normal((1, rows, rows, 2)).astype(np.float32)
        whole = np.pad(image, ((0, 0), tuple(padding), (0, 0), (0, 0)))
        reach = ((size - 1) * dilation + 1, size)
        view = np.lib.stride_tricks.sliding_window_view(whole, reach, (1, 2))
        want: Array = view[:, ::stride, ::stride, :, ::dilation].sum((-1, -2))
        if body == _PRODUCTS:
            want = np.repeat(want.sum(-1, keepdims=True), 2, axis=-1)
        if body == _COUNTED:
            want = want / size**2
        values = {
            "rows": rows,
            "size": size,
            "stride": stride,
            "dilation": dilation,
            "low": padding[0],
            "high": padding[1],
            "to": "x".join(map(str, want.shape)),
        }
        text = _MODEL.format(body=body.format(**values), **values)
        got = self.computed(text, image)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)

    def test_elements_that_are_left_over(self) -> None:
        for body in (_SUMS, _PRODUCTS):
            with self.subTest(body):
                self.check(body, 4, 3, 2)
                with mock.patch.object(windows, "apply"), self.assertRaises(BmcError):
                    # If IREE takes it, the rewrite can go.
                    self.check(body, 4, 3, 2)
                self.check(body, 5, 2, 4, dilation=2)
                # Some of the padding is left over, and all of it with elements.
                self.check(body, 4, 3, 5, (1, 2))
                self.check(body, 6, 3, 7, (1, 1))

    def test_others_stay_right(self) -> None:
        for body in (_SUMS, _PRODUCTS):
            with self.subTest(body):
                self.check(body, 6, 3, 2)
                self.check(body, 4, 3, 2, (1, 1))

    def test_elements_that_are_spread(self) -> None:
        x = np.array([1, 2, 3, 4], np.int32)
        self.assertEqual(self.computed(_SPREAD, x).tolist(), [3])
        with mock.patch.object(windows, "apply"), self.assertRaises(BmcError):
            self.computed(_SPREAD, x)

    def test_padding_changes_no_result(self) -> None:
        x = np.array([1, 2, 3, 4], np.int32)
        sums, products = [10, 13, 16, 14], [4, 12, 48, 24]
        for op, start, want in (("add", 7, sums), ("multiply", 2, products)):
            for element, dtype in (("i32", np.int32), ("ui8", np.uint8), ("f32", np.float32)):
                with self.subTest(op, element=element):
                    number = f"{start}.0" if element == "f32" else start
                    text = _STARTED.format(op=op, type=element, start=number)
                    given = x.astype(dtype)
                    self.assertEqual(self.computed(text, given).tolist(), want)
                    with mock.patch.object(windows, "apply"):
                        # If IREE does not pad with the start, the rewrite can go.
                        self.assertNotEqual(self.computed(text, given).tolist(), want)

    def test_counts(self) -> None:
        for rows, size, stride in ((8, 2, 3), (8, 2, 2), (4, 3, 2)):
            self.check(_COUNTED, rows, size, stride)
        with mock.patch.object(windows, "apply"), self.assertRaises(AssertionError):
            # If IREE counts right, the rewrite can go.
            self.check(_COUNTED, 8, 2, 3)


if __name__ == "__main__":
    unittest.main()
