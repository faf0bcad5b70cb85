"""Tests that the maximum of dequantized numbers is taken of the quantized ones."""

from __future__ import annotations

import functools
import unittest

import numpy as np
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.errors import BmcError
from bmc.rewrites.quantization import quantized_poolings

_IMAGE = """
#image = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#none = affine_map<(d0, d1, d2) -> ()>
#windows = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 2 + d3, d2 * 2 + d4)>
#taps = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>
#pooled = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
func.func @main(%x: tensor<8x6x6xi8>) -> tensor<8x3x3xf32> {
  %scale = arith.constant 0.25 : f32
  %zero = arith.constant -3 : i64
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8x6x6xf32>
  %f = iree_linalg_ext.dequantize_affine <indexing_maps = [#image, #none, #none, #image], quant_min = -128,
      quant_max = 127> ins(%x, %scale, %zero : tensor<8x6x6xi8>, f32, i64)
      outs(%e : tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
  %image = IMAGE
  %window = tensor.empty() : tensor<WINDOWxf32>
  %r = tensor.empty() : tensor<8x3x3xf32>
  %start = linalg.fill ins(%least : f32) outs(%r : tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  %0 = linalg.generic {indexing_maps = [#windows, #taps, #pooled],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%image, %window : tensor<SIZExf32>, tensor<WINDOWxf32>) outs(%start : tensor<8x3x3xf32>) {
  ^bb0(%in: f32, %w: f32, %out: f32):
    %m = arith.maximumf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<8x3x3xf32>
  return %0 : tensor<8x3x3xf32>
}
"""
_PLAIN = (
    _IMAGE.replace("IMAGE", "tensor.cast %f : tensor<8x6x6xf32> to tensor<8x6x6xf32>")
    .replace("SIZE", "8x6x6")
    .replace("WINDOW", "2x2")
)
_PLAIN = _PLAIN.replace("  %image = tensor.cast %f : tensor<8x6x6xf32> to tensor<8x6x6xf32>\n", "")
_PLAIN = _PLAIN.replace("ins(%image,", "ins(%f,")
_PADDED = (
    _IMAGE.replace(
        "IMAGE",
        "tensor.pad %f low[0, 1, 1] high[0, 0, 0] {\n^bb0(%i: index, %j: index, %k: index):\n"
        "tensor.yield %least : f32\n} : tensor<8x6x6xf32> to tensor<8x7x7xf32>",
    )
    .replace("SIZE", "8x7x7")
    .replace("WINDOW", "3x3")
)

# The image is computed in floats; what is pooled is quantized later.
_LATER = """
#image = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#none = affine_map<(d0, d1, d2) -> ()>
#windows = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 2 + d3, d2 * 2 + d4)>
#taps = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>
#pooled = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
func.func @main(%x: tensor<8x6x6xf32>) -> tensor<8x3x3xi8> {
  %scale = arith.constant 0.25 : f32
  %zero = arith.constant -3 : i64
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8x6x6xf32>
  %f = math.exp %x : tensor<8x6x6xf32>
  %image = tensor.pad %f low[0, 1, 1] high[0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %least : f32
  } : tensor<8x6x6xf32> to tensor<8x7x7xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %r = tensor.empty() : tensor<8x3x3xf32>
  %start = linalg.fill ins(%least : f32) outs(%r : tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  %0 = linalg.generic {indexing_maps = [#windows, #taps, #pooled],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%image, %window : tensor<8x7x7xf32>, tensor<3x3xf32>) outs(%start : tensor<8x3x3xf32>) {
  ^bb0(%in: f32, %w: f32, %out: f32):
    %m = arith.maximumf %out, %in : f32
    linalg.yield %m : f32
  } -> tensor<8x3x3xf32>
  %b = tensor.empty() : tensor<8x3x3xi8>
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#image, #none, #none, #image], quant_min = -128,
      quant_max = 127> ins(%0, %scale, %zero : tensor<8x3x3xf32>, f32, i64)
      outs(%b : tensor<8x3x3xi8>) -> tensor<8x3x3xi8>
  return %q : tensor<8x3x3xi8>
}
"""

_PLANE = "#image = affine_map<(d0, d1) -> (d0, d1)>"


def _flat(text: str) -> str:
    """Returns a model whose pooling takes the axis away that the window covers."""
    text = text.replace("d3, d4) -> (d0, d1, d2)>", "d3, d4) -> (d0, d1)>")
    for old, new in (
        ("d1 * 2 + d3, d2 * 2 + d4", "d2, d1 * 2 + d3"),
        ("(d0, d1, d2, d3, d4)", "(d0, d1, d2, d3)"),
        ("d3, d4", "d2, d3"),
        ('"parallel", "parallel", "parallel"', '"parallel", "parallel"'),
        ("8x3x3", "8x3"),
        ("tensor<3x3xf32>", "tensor<7x3xf32>"),
    ):
        text = text.replace(old, new)
    return text


class QuantizedMaximaTest(support.FolderTest):
    def test_int8_is_pooled(self) -> None:
        text = support.rewritten(_PLAIN, quantized_poolings.apply)
        self.assertIn("arith.maxsi", text)
        self.assertNotIn("arith.maximumf", text)
        self.assertIn("f32, i64) outs(%", text)
        self.assertIn("tensor<8x3x3xi8>, f32, i64", text)

    def test_pooled_away(self) -> None:
        flat = _flat(_PLAIN).replace("tensor<2x2xf32>", "tensor<6x2xf32>")
        text = support.rewritten(flat, quantized_poolings.apply)
        self.assertIn("tensor<8x3xi8>, f32, i64", text)

    def test_around_the_image_is_the_least_number(self) -> None:
        text = support.rewritten(_PADDED, quantized_poolings.apply)
        self.assertIn("arith.constant -128 : i8", text)
        self.assertIn("tensor<8x6x6xi8> to tensor<8x7x7xi8>", text)

    def test_what_is_quantized_later(self) -> None:
        text = support.rewritten(_LATER, quantized_poolings.apply)
        self.assertIn("tensor<8x6x6xf32>, f32, i64", text)
        self.assertIn("tensor<8x6x6xi8> to tensor<8x7x7xi8>", text)
        self.assertIn("arith.maxsi", text)
        flat = _flat(_LATER).replace("#image = affine_map<(d0, d1, d2) -> (d0, d1, d2)>", _PLANE)
        flat = flat.replace(
            "#none = affine_map<(d0, d1, d2) -> ()>", "#none = affine_map<(d0, d1) -> ()>"
        )
        text = support.rewritten(flat, quantized_poolings.apply)
        self.assertIn("tensor<8x6x6xf32>, f32, i64", text)
        # What else reads the floats would compute them once more.
        for old, new in (
            ("return %q", "%s = math.exp %0 : tensor<8x3x3xf32>\n  return %q"),
            ("%window =", "%s = math.exp %f : tensor<8x6x6xf32>\n  %window ="),
            ("0.25", "-0.25"),
        ):
            other = support.rewritten(_LATER.replace(old, new), quantized_poolings.apply)
            self.assertNotIn("maxsi", other)

    def test_others_stay_as_they_are(self) -> None:
        for text in (
            _PLAIN.replace("0.25", "-0.25"),
            _PLAIN.replace("maximumf", "minimumf"),
            _PLAIN.replace("0xFF800000", "0.0"),
            _PADDED.replace("yield %least", "yield %scale"),
            # A window could lie in what is around the image.
            _PADDED.replace("low[0, 1, 1]", "low[0, 3, 3]").replace("8x7x7", "8x9x9"),
        ):
            self.assertNotIn("maxsi", support.rewritten(text, quantized_poolings.apply))

    def test_large_images(self) -> None:
        for activation in ("Identity", "PRelu"):
            self.compiled(activation)
            with support.without("quantized_poolings"):
                call = functools.partial(self.compiled, activation)
                self.refuses("op-rejected", "stack", call=call)

    def compiled(self, activation: str) -> None:
        """Compiles an activation and a pooling between two quantized layers of an ONNX model."""
        rng = np.random.default_rng(0)
        constants = {
            "s": np.float32(0.02), "z": np.int8(-10), "t": np.float32(0.05), "u": np.int8(3),
            "v": np.float32(0.01), "n": np.int8(0), "w": rng.integers(-99, 99, (16, 3, 3, 3)).astype(np.int8),
            "k": rng.random((16, 1, 1), np.float32),
        }  # fmt: skip
        nodes = [
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
            helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["xf"]),
            helper.make_node("DequantizeLinear", ["w", "v", "n"], ["wf"]),
            helper.make_node("Conv", ["xf", "wf"], ["c"], pads=[1, 1, 1, 1]),
            helper.make_node("QuantizeLinear", ["c", "t", "u"], ["cq"]),
            helper.make_node("DequantizeLinear", ["cq", "t", "u"], ["cf"]),
            helper.make_node(activation, ["cf", "k"][: 1 + (activation == "PRelu")], ["a"]),
            helper.make_node("MaxPool", ["a"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            helper.make_node("QuantizeLinear", ["p", "t", "u"], ["pq"]),
            helper.make_node("DequantizeLinear", ["pq", "t", "u"], ["y"]),
        ]
        graph = helper.make_graph(
            nodes,
            "pooled",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 16, 16])],
            [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path = self.folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        imported = self.folder / "imported"
        self.assertEqual(
            support.bmc("import", path, "--no-host-check", "--out", imported).status, 0
        )
        options = ("--isa", support.ISA, "--name", "m", "--out", self.folder / "out")
        compiled = support.bmc("compile", "--import", imported, *options)
        if compiled.status:
            kind = "op-rejected" if "op-rejected" in compiled.err else "other"
            raise BmcError(kind, " ".join(compiled.err.split()))


if __name__ == "__main__":
    unittest.main()
