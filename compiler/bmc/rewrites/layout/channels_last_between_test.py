"""Tests that what lies between convolutions keeps their layout, and still computes the same."""

from __future__ import annotations

import unittest

import support

from bmc.rewrites.layout import channels_last_between

_MAPS = """
#same = affine_map<(a, b, c) -> (a, b, c)>
#turned = affine_map<(c, y, x) -> (y, x, c)>
#back = affine_map<(y, x, c) -> (c, y, x)>
#first = affine_map<(c, y, x) -> (c)>
#none = affine_map<(c, y, x) -> ()>
"""
_KINDS = 'iterator_types = ["parallel", "parallel", "parallel"]'
# What channels_last leaves: an operation that makes planes of pixels, and a turned copy of what becomes of them.
_BEGIN = f"""{_MAPS}
func.func @main(%s: tensor<6x7x8xf32>, %bias: tensor<8xf32>, %more: tensor<8x6x7xf32>) -> TYPE {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x6x7xf32>
  %n = linalg.generic {{indexing_maps = [#turned, #first, #same, #same], {_KINDS}}}
      ins(%s, %bias, %more : tensor<6x7x8xf32>, tensor<8xf32>, tensor<8x6x7xf32>)
      outs(%empty : tensor<8x6x7xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32, %old: f32):
    %t = arith.addf %a, %b : f32
    %r = arith.mulf %t, %c : f32
    linalg.yield %r : f32
  }} -> tensor<8x6x7xf32>
"""


def _end(value: str, planes: str, image: str, element: str = "f32") -> str:
    return f"""
  %target = tensor.empty() : tensor<{image}x{element}>
  %turned = linalg.generic {{indexing_maps = [#back, #same], {_KINDS}}}
      ins(%{value} : tensor<{planes}x{element}>) outs(%target : tensor<{image}x{element}>) {{
  ^bb0(%a: {element}, %old: {element}):
    linalg.yield %a : {element}
  }} -> tensor<{image}x{element}>
  %apart = iree_tensor_ext.compute_barrier.start %turned : tensor<{image}x{element}> -> tensor<{image}x{element}>
  return %apart : tensor<{image}x{element}>
}}
"""


def _after(middle: str, value: str, planes: str, image: str, element: str = "f32") -> str:
    text = _BEGIN.replace("TYPE", f"tensor<{image}x{element}>")
    return support.rewritten(
        text + middle + _end(value, planes, image, element), channels_last_between.apply
    )


class PixelsTest(unittest.TestCase):
    def test_an_elementwise_operation_computes_pixels(self) -> None:
        text = _after("", "n", "8x6x7", "6x7x8")
        # One operation is left, which reads the other operand through a map. No copy is.
        self.assertEqual(text.count("linalg.generic"), 1)
        self.assertNotIn("compute_barrier", text)
        self.assertIn("(d0, d1, d2) -> (d2, d0, d1)", text)
        self.assertIn("(d0, d1, d2) -> (d2)", text)
        self.assertNotIn("-> tensor<8x6x7xf32>", text.partition("linalg.generic")[2])

    def test_what_needs_planes_gets_a_copy(self) -> None:
        text = support.rewritten(
            _BEGIN.replace("TYPE", "tensor<8x6x7xf32>") + "  return %n : tensor<8x6x7xf32>\n}\n",
            channels_last_between.apply,
        )
        self.assertEqual(text.count("linalg.generic"), 2)
        self.assertIn("-> tensor<6x7x8xf32>", text)

    def test_an_element_without_a_value_may_get_into_an_image(self) -> None:
        insertion = "tensor.insert_slice %one into %all[0, 0, 0] [1, 1, 1] [1, 1, 1]"
        text = support.rewritten(
            f"""func.func @main() -> tensor<1x1x3xf32> {{
  %one = tensor.empty() : tensor<f32>
  %all = tensor.empty() : tensor<1x1x3xf32>
  %in = {insertion} : tensor<f32> into tensor<1x1x3xf32>
  return %in : tensor<1x1x3xf32>
}}""",
            channels_last_between.apply,
        )
        self.assertIn("tensor.insert_slice", text)

    def test_paddings_and_slices_move_pixels(self) -> None:
        middle = """
  %p = tensor.pad %n low[0, 1, 2] high[0, 1, 2] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<8x6x7xf32> to tensor<8x8x11xf32>
  %cut = tensor.extract_slice %p[0, 1, 0] [8, 4, 5] [1, 2, 2] : tensor<8x8x11xf32> to tensor<8x4x5xf32>
"""
        text = _after(middle, "cut", "8x4x5", "4x5x8")
        self.assertIn("low[1, 2, 0] high[1, 2, 0]", text)
        self.assertIn("[1, 0, 0] [4, 5, 8] [2, 2, 1]", text)
        self.assertEqual(text.count("linalg.generic"), 1)

    def test_concatenations_join_pixels_behind_a_first_axis(self) -> None:
        middle = """
  %none = tensor.empty() : tensor<1x16x6x7xf32>
  %one = tensor.insert_slice %n into %none[0, 0, 0, 0] [1, 8, 6, 7] [1, 1, 1, 1]
    : tensor<8x6x7xf32> into tensor<1x16x6x7xf32>
  %both = tensor.insert_slice %n into %one[0, 8, 0, 0] [1, 8, 6, 7] [1, 1, 1, 1]
    : tensor<8x6x7xf32> into tensor<1x16x6x7xf32>
  %joined = tensor.collapse_shape %both [[0, 1], [2], [3]] : tensor<1x16x6x7xf32> into tensor<16x6x7xf32>
"""
        text = _after(middle, "joined", "16x6x7", "6x7x16")
        self.assertIn("[0, 0, 8] [6, 7, 8] [1, 1, 1]", text)
        self.assertEqual(text.count("linalg.generic"), 1)

    def test_quantized_pixels_are_elementwise(self) -> None:
        middle = """
  %scale = arith.constant 0.5 : f32
  %zp = arith.constant 3 : i32
  %bytes = tensor.empty() : tensor<8x6x7xi8>
  %q = iree_linalg_ext.quantize_affine
      <indexing_maps = [#same, #none, #none, #same], quant_min = -128, quant_max = 127>
      ins(%n, %scale, %zp : tensor<8x6x7xf32>, f32, i32) outs(%bytes : tensor<8x6x7xi8>) -> tensor<8x6x7xi8>
"""
        text = _after(middle, "q", "8x6x7", "6x7x8", "i8")
        self.assertNotIn("iree_linalg_ext", text)
        self.assertIn("-> tensor<6x7x8xi8>", text)
        self.assertEqual(text.count("linalg.generic"), 2)

    def test_planes_that_no_convolution_made_stay(self) -> None:
        text = _BEGIN.replace("TYPE", "tensor<6x7x8xf32>").replace(
            "#turned, #first", "#same, #first"
        )
        text = text.replace("tensor<6x7x8xf32>, %bias", "tensor<8x6x7xf32>, %bias")
        text = text.replace(
            "ins(%s, %bias, %more : tensor<6x7x8xf32>", "ins(%s, %bias, %more : tensor<8x6x7xf32>"
        )
        text = support.rewritten(text + _end("n", "8x6x7", "6x7x8"), channels_last_between.apply)
        self.assertEqual(text.count("linalg.generic"), 2)
        self.assertIn("compute_barrier", text)


if __name__ == "__main__":
    unittest.main()
