"""Tests that products of dequantized values are in integers also where IREE cannot move a reshape of them."""

from __future__ import annotations

import unittest
from dataclasses import replace

import support

from bmc import target
from bmc.compile import CompileOptions, compile_model
from bmc.rewrites.quantization import dequantizations

# A matrix product and a batch of them read the same values.
_MODEL = """
#i = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#s = affine_map<(d0, d1, d2) -> ()>
#m = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> ()>
func.func @main(%x: tensor<3x2x3xf32>, %v: tensor<3x5xi8>, %w: tensor<3x3x4xi8>)
    -> (tensor<6x5xf32>, tensor<3x2x4xf32>) {
  %scale = arith.constant 0.05 : f32
  %point = arith.constant 7 : i64
  %zero = arith.constant 0.0 : f32
  %xq_empty = tensor.empty() : tensor<3x2x3xi8>
  %x_empty = tensor.empty() : tensor<3x2x3xf32>
  %v_empty = tensor.empty() : tensor<3x5xf32>
  %w_empty = tensor.empty() : tensor<3x3x4xf32>
  %xq = iree_linalg_ext.quantize_affine <indexing_maps = [#i, #s, #s, #i], quant_min = -128, quant_max = 127>
      ins(%x, %scale, %point : tensor<3x2x3xf32>, f32, i64) outs(%xq_empty : tensor<3x2x3xi8>) -> tensor<3x2x3xi8>
  %xf = iree_linalg_ext.dequantize_affine <indexing_maps = [#i, #s, #s, #i], quant_min = -128, quant_max = 127>
      ins(%xq, %scale, %point : tensor<3x2x3xi8>, f32, i64) outs(%x_empty : tensor<3x2x3xf32>) -> tensor<3x2x3xf32>
  %vf = iree_linalg_ext.dequantize_affine <indexing_maps = [#m, #n, #m], quant_min = -127, quant_max = 127>
      ins(%v, %scale : tensor<3x5xi8>, f32) outs(%v_empty : tensor<3x5xf32>) -> tensor<3x5xf32>
  %wf = iree_linalg_ext.dequantize_affine <indexing_maps = [#i, #s, #i], quant_min = -127, quant_max = 127>
      ins(%w, %scale : tensor<3x3x4xi8>, f32) outs(%w_empty : tensor<3x3x4xf32>) -> tensor<3x3x4xf32>
  %rows = tensor.collapse_shape %xf [[0, 1], [2]] : tensor<3x2x3xf32> into tensor<6x3xf32>
  %a_empty = tensor.empty() : tensor<6x5xf32>
  %a_zero = linalg.fill ins(%zero : f32) outs(%a_empty : tensor<6x5xf32>) -> tensor<6x5xf32>
  %a = linalg.matmul ins(%rows, %vf : tensor<6x3xf32>, tensor<3x5xf32>)
      outs(%a_zero : tensor<6x5xf32>) -> tensor<6x5xf32>
  %b_empty = tensor.empty() : tensor<3x2x4xf32>
  %b_zero = linalg.fill ins(%zero : f32) outs(%b_empty : tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  %b = linalg.batch_matmul ins(%xf, %wf : tensor<3x2x3xf32>, tensor<3x3x4xf32>)
      outs(%b_zero : tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  return %a, %b : tensor<6x5xf32>, tensor<3x2x4xf32>
}
"""
_START, _END = _MODEL.index("  %b_empty"), _MODEL.index("  return")
_ONE_READER = (_MODEL[:_START] + _MODEL[_END:]).replace("%a, %b :", "%a :")
_ONE_READER = _ONE_READER.replace(", tensor<3x2x4xf32>", "")
_PADDED = _ONE_READER.replace("%x: tensor<3x2x3xf32>", "%small: tensor<3x1x3xf32>").replace(
    "  %xq_empty",
    """  %x = tensor.pad %small low[0, 1, 0] high[0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<3x1x3xf32> to tensor<3x2x3xf32>
  %xq_empty""",
    1,
)


class DequantizationsTest(support.FolderTest):
    def compile(self, text: str) -> list[str]:
        model = replace(support.import_text(text, self.folder), int8=True)
        options = CompileOptions("m", target.find(support.ISA), self.folder / "out")
        products: list[str] = compile_model(model, options)["int8"]["integer_dispatches"]
        return products

    def test_all_products_are_in_integers(self) -> None:
        for text, products in ((_MODEL, 2), (_PADDED, 1)):
            self.assertEqual(len(self.compile(text)), products)

    def test_without_it_one_is_not(self) -> None:
        for text in (_MODEL, _PADDED):
            with support.without("dequantizations"):
                self.refuses("float-dispatch", call=lambda text=text: self.compile(text))

    def test_a_reshape_reads_int8(self) -> None:
        for text in (_ONE_READER, _MODEL, _PADDED):
            rewritten = support.rewritten(text, dequantizations.apply)
            self.assertIn("tensor<3x2x3xi8> into tensor<6x3xi8>", rewritten)

    def test_others_stay_as_they_are(self) -> None:
        scales = "#c = affine_map<(d0, d1, d2) -> (d2)>\n" + _MODEL
        for old, new in (
            ("[#i, #s, #s, #i]", "[#i, #c, #c, #i]"),
            ("f32, i64) outs", "tensor<3xf32>, tensor<3xi64>) outs"),
            ("ins(%x, %scale, %point", "ins(%x, %scales, %points"),
            ("ins(%xq, %scale, %point", "ins(%xq, %scales, %points"),
            ("  %zero", "  %scales = arith.constant dense<0.05> : tensor<3xf32>\n  %zero"),
            ("  %zero", "  %points = arith.constant dense<7> : tensor<3xi64>\n  %zero"),
        ):
            scales = scales.replace(old, new, 1 if old == "  %zero" else -1)
        constant = _ONE_READER.replace("ins(%xq,", "ins(%stored,").replace(
            "  %zero", "  %stored = arith.constant dense<3> : tensor<3x2x3xi8>\n  %zero", 1
        )
        for text in (constant, scales):
            before = support.rewritten(text)
            self.assertEqual(support.rewritten(text, dequantizations.apply), before)


if __name__ == "__main__":
    unittest.main()
