"""Tests insertions into filled tensors against the same model with a pad."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.meaning import insertions_as_pads

_MODEL = """func.func @main(%x: tensor<1x4x5x8xf32>) -> tensor<1x3x8x9xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<0.5> : tensor<3x4x2x2xf32>
  %two = arith.constant dense<0.25> : tensor<3x3x2x2xf32>
  %e = tensor.empty() : tensor<1x3x4x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x3x4x7xf32>) -> tensor<1x3x4x7xf32>
  %a = linalg.conv_2d_nchw_fchw ins(%x, %one : tensor<1x4x5x8xf32>, tensor<3x4x2x2xf32>)
      outs(%f : tensor<1x3x4x7xf32>) -> tensor<1x3x4x7xf32>
@PADDED@  %k = tensor.empty() : tensor<1x3x8x9xf32>
  %l = linalg.fill ins(%zero : f32) outs(%k : tensor<1x3x8x9xf32>) -> tensor<1x3x8x9xf32>
  %b = linalg.conv_2d_nchw_fchw ins(%p, %two : tensor<1x3x9x10xf32>, tensor<3x3x2x2xf32>)
      outs(%l : tensor<1x3x8x9xf32>) -> tensor<1x3x8x9xf32>
  return %b : tensor<1x3x8x9xf32>
}
"""
_INSERTED = """  %g = tensor.empty() : tensor<1x3x9x10xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<1x3x9x10xf32>) -> tensor<1x3x9x10xf32>
  %p = tensor.insert_slice %a into %h[0, 0, 2, 1] [1, 3, 4, 7] [1, 1, 1, 1]
      : tensor<1x3x4x7xf32> into tensor<1x3x9x10xf32>
"""
_PADDED = """  %p = tensor.pad %a low[0, 0, 2, 1] high[0, 0, 3, 2] {
  ^bb0(%i0: index, %i1: index, %i2: index, %i3: index):
    tensor.yield %zero : f32
  } : tensor<1x3x4x7xf32> to tensor<1x3x9x10xf32>
"""


class InsertionsTest(support.FolderTest):
    def answer(self, part: str) -> Array:
        x = np.random.default_rng(1).standard_normal((1, 4, 5, 8)).astype(np.float32)
        (result,) = self.on_host(_MODEL.replace("@PADDED@", part), x)
        return result

    def test_an_insertion_is_a_pad(self) -> None:
        np.testing.assert_allclose(self.answer(_INSERTED), self.answer(_PADDED), rtol=1e-5)
        support.compile_text(_MODEL.replace("@PADDED@", _INSERTED), self.folder)

    def test_iree_refuses_it(self) -> None:
        # If this fails, IREE has mended this, and the rewrite can go.
        with mock.patch.object(insertions_as_pads, "apply"):
            self.refuses("op-rejected", "out-of-bounds", call=lambda: self.answer(_INSERTED))

    def test_others_stay_as_they_are(self) -> None:
        for old, new in (
            # With gaps, and into something else.
            ("[1, 1, 1, 1]\n", "[1, 1, 1, 2]\n"),
            ("%a into %h", "%a into %g"),
        ):
            part = _INSERTED.replace(old, new).replace("0, 2, 1]", "0, 2, 0]")
            part = part.replace("9x10", "9x14")
            text = (
                _MODEL[: _MODEL.index("@PADDED")] + part + "  return %p : tensor<1x3x9x14xf32>\n}\n"
            )
            text = text.replace("-> tensor<1x3x8x9xf32> {", "-> tensor<1x3x9x14xf32> {")
            self.assertIn("insert_slice", support.rewritten(text, insertions_as_pads.apply), new)


if __name__ == "__main__":
    unittest.main()
