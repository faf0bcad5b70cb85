"""Tests which models count as quantized."""

from __future__ import annotations

import unittest

import support

from bmc.frontends import quantized

# Multiplies int8 by int8.
_TOSA = """func.func @main(%x: tensor<1x2x4xi8>, %y: tensor<1x4x3xi8>) -> tensor<1x2x3xi32> {
  %zero = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>
  %0 = tosa.matmul %x, %y, %zero, %zero
      : (tensor<1x2x4xi8>, tensor<1x4x3xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x3xi32>
  return %0 : tensor<1x2x3xi32>
}
"""


# The same in linalg, of int16 and int8.
_LINALG = """func.func @main(%x: tensor<2x4xi16>, %y: tensor<4x3xi8>, %z: tensor<2x3xi64>) -> tensor<2x3xi64> {
  %0 = linalg.matmul ins(%x, %y : tensor<2x4xi16>, tensor<4x3xi8>) outs(%z : tensor<2x3xi64>) -> tensor<2x3xi64>
  return %0 : tensor<2x3xi64>
}
"""


class QuantizedTest(support.FolderTest):
    def is_quantized(self, text: str) -> bool:
        return quantized.is_quantized(quantized.kinds(self.write("m.mlir", text)))

    def test_products_of_int8(self) -> None:
        self.assertTrue(self.is_quantized(_TOSA))
        # The same product of floats.
        floats = _TOSA.replace("i8", "f32").replace("i32", "f32").replace("dense<0>", "dense<0.0>")
        self.assertFalse(self.is_quantized(floats))

    def test_products_of_int16(self) -> None:
        self.assertTrue(self.is_quantized(_TOSA.replace("i8", "i16").replace("i32", "i48")))
        self.assertTrue(self.is_quantized(_LINALG))
        # Wider integers are counts, and not what a quantized model multiplies.
        self.assertFalse(self.is_quantized(_LINALG.replace("i16", "i32").replace("i8", "i32")))

    def test_models_of_both(self) -> None:
        floats = _LINALG.replace("i16", "f32").replace("i8", "f32").replace("i64", "f32")
        both = _LINALG + floats.replace("@main", "@other")
        for text, mixed in ((both, True), (floats, False), (_LINALG, False)):
            self.assertEqual(quantized.is_mixed(quantized.kinds(self.write("m.mlir", text))), mixed)

    def test_dequantized_values(self) -> None:
        for op in ("onnx.DequantizeLinear", "onnx.Relu"):
            text = f"""func.func @main(%x: !torch.vtensor<[4],si8>) -> !torch.vtensor<[4],f32> {{
  %0 = torch.operator "{op}"(%x) : (!torch.vtensor<[4],si8>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}}
"""
            self.assertEqual(self.is_quantized(text), op == "onnx.DequantizeLinear")

    def test_other_models(self) -> None:
        self.assertFalse(self.is_quantized(support.ADD))


if __name__ == "__main__":
    unittest.main()
