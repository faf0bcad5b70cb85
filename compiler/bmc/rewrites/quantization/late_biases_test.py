"""Tests that a bias that IREE leaves in the sum is added after the convolution."""

from __future__ import annotations

import unittest

import support

from bmc.rewrites.quantization import late_biases

_CONVOLUTION = """
func.func @main(%x: tensor<1x2x4x6x6xf32>, %w: tensor<2x3x4x3x3xf32>, %bias: tensor<1x6x4x4xf32>,
                %sums: tensor<1x2x3x4x4xf32>) -> tensor<1x2x3x4x4xf32> {
  %groups = tensor.expand_shape %bias [[0], [1, 2], [3], [4]] output_shape [1, 2, 3, 4, 4]
      : tensor<1x6x4x4xf32> into tensor<1x2x3x4x4xf32>
  %constant = arith.constant dense<0.5> : tensor<1x2x3x4x4xf32>
  %zeros = arith.constant dense<0.0> : tensor<1x2x3x4x4xf32>
  %positive = math.absf %sums : tensor<1x2x3x4x4xf32>
  %0 = linalg.conv_2d_ngchw_gfchw
      ins(%x, %w : tensor<1x2x4x6x6xf32>, tensor<2x3x4x3x3xf32>)
      outs(%groups : tensor<1x2x3x4x4xf32>) -> tensor<1x2x3x4x4xf32>
  return %0 : tensor<1x2x3x4x4xf32>
}
"""


class BiasesTest(unittest.TestCase):
    def test_a_reshaped_bias_is_added_to_a_sum_from_zeros(self) -> None:
        text = support.rewritten(_CONVOLUTION, late_biases.apply)
        self.assertRegex(
            text,
            r"(?s)%(\w+) = linalg.fill .*%(\w+) = linalg.conv_2d\S+ .*outs\(%\1 .*"
            r"%(\w+) = arith.addf %\2, %expanded .*return %\3 ",
        )

    def test_a_constant_bias_is_added_to_a_sum_from_zeros(self) -> None:
        text = support.rewritten(
            _CONVOLUTION.replace("outs(%groups", "outs(%constant"), late_biases.apply
        )
        self.assertRegex(
            text,
            r"(?s)%(\w+) = arith.constant dense<5.0\S+ .*%(\w+) = linalg.fill .*"
            r"%(\w+) = linalg.conv_2d\S+ .*outs\(%\2 .*%(\w+) = arith.addf %\3, %\1 .*return %\4 ",
        )

    def test_a_sum_that_starts_elsewhere_is_left_alone(self) -> None:
        for start in ("%sums", "%positive", "%zeros"):
            text = support.rewritten(
                _CONVOLUTION.replace("outs(%groups", f"outs({start}"), late_biases.apply
            )
            self.assertNotIn("arith.addf", text)
            self.assertNotIn("linalg.fill", text)

    def test_integers_are_left_alone(self) -> None:
        text = _CONVOLUTION.replace("f32", "i32").replace("0.5", "5").replace("0.0", "0")
        text = text.replace("math.absf", "math.absi").replace("outs(%groups", "outs(%constant")
        self.assertNotIn("linalg.fill", support.rewritten(text, late_biases.apply))


if __name__ == "__main__":
    unittest.main()
