"""Tests that what is split into heads is quantized before, and computed by one product."""

from __future__ import annotations

import unittest
from dataclasses import replace

import support

from bmc import target
from bmc.compile import CompileOptions, compile_model
from bmc.rewrites.quantization import quantized_heads

# Two sentences of three tokens, and four heads of eight numbers.
_MODEL = """
#m = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> ()>
#i = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#s = affine_map<(d0, d1, d2, d3) -> ()>
func.func @main(%x: tensor<6x16xi8>, %w: tensor<16x32xi8>) -> tensor<2x4x3x8xi8> {
  %scale = arith.constant 0.05 : f32
  %point = arith.constant 7 : i64
  %zero = arith.constant 0.0 : f32
  %xs = tensor.empty() : tensor<6x16xf32>
  %ws = tensor.empty() : tensor<16x32xf32>
  %ys = tensor.empty() : tensor<6x32xf32>
  %zs = tensor.empty() : tensor<2x4x3x8xf32>
  %bytes = tensor.empty() : tensor<2x4x3x8xi8>
  %xf = iree_linalg_ext.dequantize_affine <indexing_maps = [#m, #n, #m], quant_min = -128, quant_max = 127>
      ins(%x, %scale : tensor<6x16xi8>, f32) outs(%xs : tensor<6x16xf32>) -> tensor<6x16xf32>
  %wf = iree_linalg_ext.dequantize_affine <indexing_maps = [#m, #n, #m], quant_min = -128, quant_max = 127>
      ins(%w, %scale : tensor<16x32xi8>, f32) outs(%ws : tensor<16x32xf32>) -> tensor<16x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%ys : tensor<6x32xf32>) -> tensor<6x32xf32>
  %y = linalg.matmul ins(%xf, %wf : tensor<6x16xf32>, tensor<16x32xf32>)
      outs(%start : tensor<6x32xf32>) -> tensor<6x32xf32>
  %split = tensor.expand_shape %y [[0, 1], [2, 3]] output_shape [2, 3, 4, 8]
      : tensor<6x32xf32> into tensor<2x3x4x8xf32>
  %heads = linalg.transpose ins(%split : tensor<2x3x4x8xf32>) outs(%zs : tensor<2x4x3x8xf32>)
      permutation = [0, 2, 1, 3]
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#i, #s, #s, #i], quant_min = -128, quant_max = 127>
      ins(%heads, %scale, %point : tensor<2x4x3x8xf32>, f32, i64) outs(%bytes : tensor<2x4x3x8xi8>)
      -> tensor<2x4x3x8xi8>
  return %q : tensor<2x4x3x8xi8>
}
"""


class HeadsTest(support.FolderTest):
    def products(self) -> list[str]:
        model = replace(support.import_text(_MODEL, self.folder), int8=True)
        options = CompileOptions("m", target.find(support.ISA), self.folder / "out")
        found: list[str] = compile_model(model, options)["int8"]["integer_dispatches"]
        return found

    def test_bytes_are_moved(self) -> None:
        text = support.rewritten(_MODEL, quantized_heads.apply)
        self.assertRegex(text, r"quantize_affine .* ins\(%\d+, %cst, %c7_i64 : tensor<6x32xf32>")
        self.assertRegex(text, r"permutation = \[0, 2, 1, 3\]")
        self.assertIn("tensor<6x32xi8> into tensor<2x3x4x8xi8>", text)
        self.assertNotIn("tensor<2x4x3x8xf32>,", text)

    def test_keys_are_turned_before_they_are_read(self) -> None:
        def barriers(text: str) -> int:
            return support.rewritten(text, quantized_heads.apply).count("compute_barrier.start")

        keys = _MODEL.replace("2x4x3x8", "2x4x8x3").replace("[0, 2, 1, 3]", "[0, 2, 3, 1]")
        self.assertEqual(barriers(keys), barriers(_MODEL) + 1)

    def test_one_product_has_all_heads(self) -> None:
        (product,) = self.products()
        self.assertIn("6x32x16_i8", product)

    def test_without_it_each_head_has_its_own(self) -> None:
        with support.without("quantized_heads"):
            (product,) = self.products()
        self.assertNotIn("6x32x16_i8", product)

    def test_others_stay_as_they_are(self) -> None:
        several = _MODEL.replace(
            "#s = affine_map<(d0, d1, d2, d3) -> ()>", "#s = affine_map<(d0, d1, d2, d3) -> (d1)>"
        )
        several = several.replace(
            "  %bytes",
            "  %scales = arith.constant dense<0.05> : tensor<4xf32>\n"
            "  %points = arith.constant dense<7> : tensor<4xi64>\n  %bytes",
            1,
        ).replace(
            "ins(%heads, %scale, %point : tensor<2x4x3x8xf32>, f32, i64)",
            "ins(%heads, %scales, %points : tensor<2x4x3x8xf32>, tensor<4xf32>, tensor<4xi64>)",
        )
        two_readers = _MODEL.replace(
            "-> tensor<2x4x3x8xi8> {", "-> (tensor<2x4x3x8xi8>, tensor<2x4x3x8xf32>) {"
        ).replace(
            "return %q : tensor<2x4x3x8xi8>",
            "return %q, %heads : tensor<2x4x3x8xi8>, tensor<2x4x3x8xf32>",
        )
        begin, end = _MODEL.index("  %heads = "), _MODEL.index("  %q = ")
        not_moved = (
            (_MODEL[:begin] + _MODEL[end:])
            .replace("%heads", "%split")
            .replace("2x4x3x8", "2x3x4x8")
        )
        given = _MODEL.replace("main(", "main(%state: tensor<6x32xf32>, ").replace(
            "expand_shape %y", "expand_shape %state"
        )
        for text in (several, two_readers, not_moved, given):
            self.assertEqual(
                support.rewritten(text, quantized_heads.apply), support.rewritten(text)
            )


if __name__ == "__main__":
    unittest.main()
