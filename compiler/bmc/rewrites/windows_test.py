"""Tests windows that leave elements over, and their counts, by what IREE computes. NumPy's are right."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from unittest import mock

import numpy as np
import support

from bmc.artifacts import Signature, TensorInfo
from bmc.dtype import Array, DType
from bmc.errors import BmcError
from bmc.reference import HostModel
from bmc.rewrites import windows

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


class WindowsTest(support.FolderTest):
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
        path = self.write("model.mlir", _MODEL.format(body=body.format(**values), **values))
        x, y = (
            TensorInfo(*each)
            for each in (("x", DType.F32, image.shape), ("y", DType.F32, want.shape))
        )
        host = HostModel.compile(path, (Signature("main", (x,), (y,)),), self.folder / "reproducer")
        np.testing.assert_allclose(host.run((image,))[0], want, rtol=1e-5, atol=1e-5)

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

    def test_counts(self) -> None:
        for rows, size, stride in ((8, 2, 3), (8, 2, 2), (4, 3, 2)):
            self.check(_COUNTED, rows, size, stride)
        with mock.patch.object(windows, "apply"), self.assertRaises(AssertionError):
            # If IREE counts right, the rewrite can go.
            self.check(_COUNTED, 8, 2, 3)


if __name__ == "__main__":
    unittest.main()
