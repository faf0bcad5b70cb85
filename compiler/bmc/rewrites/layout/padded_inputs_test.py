"""Tests which images are copied by rows, and where their pixels go."""

from __future__ import annotations

import unittest

import support

from bmc.rewrites.layout import padded_inputs

_PADDED = """util.func @main(%argument: tensor<4x5x3xi8>) -> tensor<7x8x{C}xi8> {
  %p = arith.constant -7 : i8
  %x = SOURCE : tensor<4x5x3xi8>
  %0 = tensor.pad %x low[2, 3, 0] high[1, 0, {MORE}] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %p : i8
  } : tensor<4x5x3xi8> to tensor<7x8x{C}xi8>
  util.return %0 : tensor<7x8x{C}xi8>
}
"""
_INPUT = "iree_tensor_ext.compute_barrier.start %argument : tensor<4x5x3xi8> -> tensor<4x5x3xi8>"


def _text(source: str, *, more: int = 0) -> str:
    text = _PADDED.replace("SOURCE : tensor<4x5x3xi8>", source)
    return text.replace("{MORE}", str(more)).replace("{C}", str(3 + more))


class PadsTest(unittest.TestCase):
    def test_rows_of_an_input_are_one_axis(self) -> None:
        text = support.rewritten(_text(_INPUT), padded_inputs.apply)
        self.assertIn("tensor<4x5x3xi8> into tensor<4x15xi8>", text)
        self.assertIn("low[2, 9] high[1, 0]", text)
        self.assertIn("tensor<7x24xi8> into tensor<7x8x3xi8>", text)

    def test_other_paddings_stay(self) -> None:
        computed = "arith.addi %argument, %argument : tensor<4x5x3xi8>"
        pixels = _text(_INPUT).replace("x3xi8", "x16xi8")
        for text in (_text(computed), _text(_INPUT, more=1), pixels):
            self.assertNotIn("collapse_shape", support.rewritten(text, padded_inputs.apply))


if __name__ == "__main__":
    unittest.main()
