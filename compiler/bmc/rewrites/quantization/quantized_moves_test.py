"""Tests that what is joined or padded and then quantized is quantized before."""

from __future__ import annotations

import unittest

import support

from bmc.rewrites.quantization import quantized_moves

_HEAD = """
#i = affine_map<(d0, d1) -> (d0, d1)>
#s = affine_map<(d0, d1) -> ()>
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>, %b: tensor<2x4xi8>) -> {RESULTS} {{
  %one = tensor.empty() : tensor<2x7xi8>
  %four = tensor.empty() : tensor<2x4xf32>
"""
_JOINED = (
    "  %c = tensor.concat dim(1) %x, %y : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>\n"
)
_INT8, _FLOAT = "tensor<2x7xi8>", "tensor<2x7xf32>"


def _quantized(name: str, source: str, scale: float = 0.25, zero_point: int = -3) -> str:
    return f"""
  %{name}_s = arith.constant {scale} : f32
  %{name}_z = arith.constant {zero_point} : i64
  %{name} = iree_linalg_ext.quantize_affine <indexing_maps = [#i, #s, #s, #i], quant_min = -128, quant_max = 127>
      ins(%{source}, %{name}_s, %{name}_z : tensor<2x7xf32>, f32, i64) outs(%one : tensor<2x7xi8>) -> tensor<2x7xi8>
"""


def _rewritten(body: str, *results: str) -> str:
    """Returns what becomes of a function whose results, "%name: type", are in the end of the body."""
    names, types = zip(*(result.split(": ") for result in results), strict=True)
    head = _HEAD.format(RESULTS=f"({', '.join(types)})")
    text = f"{head}{body}  return {', '.join(names)} : {', '.join(types)}\n}}\n"
    return support.rewritten(text, quantized_moves.apply)


class QuantizedMovesTest(unittest.TestCase):
    def test_parts_are_quantized(self) -> None:
        text = _rewritten(_JOINED + _quantized("q", "c"), f"%q: {_INT8}")
        self.assertIn("(tensor<2x3xi8>, tensor<2x4xi8>) -> tensor<2x7xi8>", text)
        self.assertEqual(text.count("quantize_affine"), 2)

    def test_padding(self) -> None:
        padded = """  %f = arith.constant NUMBER : f32
  %c = tensor.pad %y low[0, 2] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %f : f32
  } : tensor<2x4xf32> to tensor<2x7xf32>
"""
        for number, byte in (("0.0", -3), ("1.1", 1), ("0xFF800000", -128), ("9.9e9", 127)):
            body = padded.replace("NUMBER", number) + _quantized("q", "c")
            text = _rewritten(body, f"%q: {_INT8}")
            self.assertIn(f"arith.constant {byte} : i8", text)
            self.assertIn("tensor<2x4xi8> to tensor<2x7xi8>", text)
        # Another number for each element.
        body = padded.replace("NUMBER", "0.0").replace("yield %f", "yield %e")
        extracted = "    %e = tensor.extract %x[%i, %i] : tensor<2x3xf32>\n    tensor.yield"
        body = body.replace("    tensor.yield", extracted) + _quantized("q", "c")
        self.assertIn("to tensor<2x7xf32>", _rewritten(body, f"%q: {_INT8}"))

    def test_several_readers(self) -> None:
        results = (f"%q: {_INT8}", f"%r: {_INT8}")
        both = _JOINED + _quantized("q", "c")
        text = _rewritten(both + _quantized("r", "c"), *results)
        self.assertEqual(text.count("quantize_affine"), 2)
        for other in (_quantized("r", "c", 0.5), _quantized("r", "c", zero_point=4)):
            text = _rewritten(both + other, *results)
            self.assertIn("-> tensor<2x7xf32>", text)

    def test_what_also_is_read_as_floats(self) -> None:
        text = _rewritten(_JOINED + _quantized("q", "c"), f"%q: {_INT8}", f"%c: {_FLOAT}")
        self.assertIn("-> tensor<2x7xf32>", text)

    def test_parts_that_are_joined_or_were_quantized(self) -> None:
        inner = _JOINED.replace("%x, %y", "%x, %d").replace("%c", "%n")
        outer = """
  %ds = arith.constant 0.25 : f32
  %dz = arith.constant -3 : i64
  %d = iree_linalg_ext.dequantize_affine <indexing_maps = [#i, #s, #s, #i], quant_min = -128, quant_max = 127>
      ins(%b, %ds, %dz : tensor<2x4xi8>, f32, i64) outs(%four : tensor<2x4xf32>) -> tensor<2x4xf32>
"""
        join = "  %c = tensor.concat dim(0) %n, %n : (tensor<2x7xf32>, tensor<2x7xf32>) -> tensor<4x7xf32>\n"
        large = "  %large = tensor.empty() : tensor<4x7xi8>\n"
        quantized = _quantized("q", "c").replace("2x7", "4x7").replace("%one", "%large")
        body = outer + inner + join + large + quantized
        text = _rewritten(body, "%q: tensor<4x7xi8>")
        self.assertEqual(text.count("(tensor<2x3xi8>, tensor<2x4xi8>) -> tensor<2x7xi8>"), 1)
        # The other part is what was dequantized.
        self.assertEqual(text.count("iree_linalg_ext.quantize_affine"), 1)
        self.assertIn(", %arg2 : ", text)
        other = _rewritten(
            body.replace("%ds = arith.constant 0.25", "%ds = arith.constant 0.5"),
            "%q: tensor<4x7xi8>",
        )
        self.assertEqual(other.count("iree_linalg_ext.quantize_affine"), 2)


if __name__ == "__main__":
    unittest.main()
