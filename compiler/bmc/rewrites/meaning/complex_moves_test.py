"""Tests moves of complex numbers against NumPy, by what IREE computes."""

from __future__ import annotations

import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import support

from bmc.errors import BmcError
from bmc.rewrites.meaning import complex_moves

_REPORT = Path(__file__).parents[4] / "docs/upstream/iree-complex-pads.md"
_MODEL = _REPORT.read_text(encoding="utf-8").partition("```mlir\n")[2].partition("```")[0]
_BITS = """func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %z = stablehlo.complex %x, %y : tensor<3xcomplex<f32>>
  %r = stablehlo.bitcast_convert %z : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %imag = stablehlo.imag %r : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  return %imag : tensor<3xf32>
}
"""


class ComplexMovesTest(support.FolderTest):
    def test_what_moves(self) -> None:
        x, y = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
        for text, want in (
            (_MODEL, [[7, 1, 2, 3, 7], [8, 4, 5, 6, 8]]),
            (_BITS, [[4, 5, 6]]),
        ):
            with self.subTest(text):
                got = self.on_host(text, x, y)
                self.assertEqual([part.tolist() for part in got], want)
                with mock.patch.object(complex_moves, "apply"), self.assertRaises(BmcError):
                    # If IREE compiles it, this part of the rewrite can go.
                    self.on_host(text, x, y)


if __name__ == "__main__":
    unittest.main()
