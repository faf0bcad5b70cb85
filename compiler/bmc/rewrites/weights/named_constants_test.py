"""Tests which constants become named weights."""

from __future__ import annotations

import unittest

import support

from bmc.errors import BmcError
from bmc.rewrites.model_context import RESET
from bmc.rewrites.weights import named_constants


class ConstantsTest(unittest.TestCase):
    def weights(self, literal: str, kind: str, function: str = "main") -> int:
        """Returns how many weights a function with this constant has."""
        text = support.rewritten(
            f"""
func.func @{function}() -> {kind} {{
  %0 = arith.constant {literal} : {kind}
  return %0 : {kind}
}}
{{-#
  dialect_resources: {{ builtin: {{ small: "0x0400000000000000" }} }}
#-}}
""",
            named_constants.apply,
        )
        count = text.count("util.global private @weight")
        self.assertEqual(text.count("util.global.load immutable @weight"), count)
        self.assertEqual(text.count("arith.constant"), 1 - count)
        return count

    def test_large_tensors(self) -> None:
        self.assertEqual(self.weights("dense<1.5>", "tensor<8x8xf32>"), 1)
        self.assertEqual(self.weights("dense<1.5>", "tensor<9x7xf32>"), 0)
        self.assertEqual(self.weights("dense<3>", "tensor<256xi8>"), 1)
        self.assertEqual(self.weights("1.5", "f32"), 0)

    def test_complex_numbers(self) -> None:
        kind = "tensor<64xcomplex<f32>>"
        self.assertEqual(self.weights("dense<(0.0, 1.0)>", kind), 0)
        numbers = "dense<[" + ", ".join(f"({n}.0, 1.0)" for n in range(64)) + "]>"
        with self.assertRaisesRegex(BmcError, "constant tensor of complex numbers"):
            self.weights(numbers, kind)

    def test_every_resource(self) -> None:
        self.assertEqual(self.weights("dense_resource<small>", "tensor<1xf32>"), 1)

    def test_few_weights_of_a_convolution(self) -> None:
        def count(literal: str) -> int:
            text = support.rewritten(
                f"""
func.func @main(%x: tensor<4x8xf32>, %y: tensor<2x8xf32>) -> tensor<2x8xf32> {{
  %w = arith.constant {literal} : tensor<3x8xf32>
  %0 = linalg.generic {{indexing_maps = [affine_map<(x, c, i) -> (x + i, c)>, affine_map<(x, c, i) -> (i, c)>,
      affine_map<(x, c, i) -> (x, c)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %w : tensor<4x8xf32>, tensor<3x8xf32>) outs(%y : tensor<2x8xf32>) {{
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }} -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}}
""",
                named_constants.apply,
            )
            return text.count("util.global private @weight")

        rows = [", ".join(f"{row}.{n}" for n in range(8)) for row in range(3)]
        self.assertEqual(count(f"dense<[{', '.join(f'[{row}]' for row in rows)}]>"), 1)
        self.assertEqual(count("dense<0.5>"), 0)

    def test_a_state_that_starts_as_zeros_takes_no_flash(self) -> None:
        self.assertEqual(self.weights("dense<0.0>", "tensor<64xf32>", RESET), 0)
        values = ", ".join(f"{number}.0" for number in range(64))
        self.assertEqual(self.weights(f"dense<[{values}]>", "tensor<64xf32>", RESET), 1)

    def test_names_are_in_the_order_of_the_program(self) -> None:
        text = support.rewritten(
            """
func.func @main() -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = arith.constant dense<1.0> : tensor<64xf32>
  %1 = arith.constant dense<2.0> : tensor<64xf32>
  return %1, %0 : tensor<64xf32>, tensor<64xf32>
}
""",
            named_constants.apply,
        )
        self.assertIn("@weight0 = dense<1.000000e+00>", text)
        self.assertIn("@weight1 = dense<2.000000e+00>", text)


if __name__ == "__main__":
    unittest.main()
