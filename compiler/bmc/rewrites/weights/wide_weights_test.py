"""Tests which weights of int8 are stored in 16 bits, and with which bytes."""

from __future__ import annotations

import json
import unittest
from typing import Any
from unittest import mock

import numpy as np
import support

from bmc import target
from bmc.compile import Lowered
from bmc.kernels.schedule import gemm
from bmc.kernels.unsupported import Unsupported
from bmc.rewrites.context import Context
from bmc.rewrites.kernels import own_kernels
from bmc.rewrites.kernels.tuning import Tuning
from bmc.rewrites.weights import wide_weights

_PRODUCT = """
  %w{N} = util.global.load immutable @w{N} : tensor<8x16xi8>
  %e{N} = tensor.expand_shape %w{N} [[0, 1], [2]] output_shape [2, 4, 16] : tensor<8x16xi8> into tensor<2x4x16xi8>
  %o{N} = tensor.empty() : tensor<{ROWS}x16xi32>
  %f{N} = linalg.fill ins(%zero : i32) outs(%o{N} : tensor<{ROWS}x16xi32>) -> tensor<{ROWS}x16xi32>
  %y{N} = linalg.generic {{
      indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>,
                       affine_map<(d0, d1, d2, d3) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
      ins(%x{N}, %e{N} : tensor<{ROWS}x2x4xi8>, tensor<2x4x16xi8>) outs(%f{N} : tensor<{ROWS}x16xi32>) {{
  ^bb0(%a: i8, %b: i8, %c: i32):
    %p = arith.extsi %a : i8 to i32
    %q = arith.extsi %b : i8 to i32
    %r = arith.muli %p, %q : i32
    %s = arith.addi %c, %r : i32
    linalg.yield %s : i32
  }} -> tensor<{ROWS}x16xi32>"""
_DEFAULT = Tuning()
_WEIGHTS = np.random.default_rng(3).integers(-128, 128, (32, 64)).astype(np.int8)
_MODEL = f"""func.func @main(%x: tensor<40x32xi8>) -> tensor<40x64xi32> {{
  %w = stablehlo.constant dense<"0x{_WEIGHTS.tobytes().hex()}"> : tensor<32x64xi8>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<40x32xi8>, tensor<32x64xi8>) -> tensor<40x64xi32>
  return %0 : tensor<40x64xi32>
}}
"""


# Sixteen channels of many pixels, which are written as planes: lanes that are pixels fill a group of registers.
_PLANES = f"""func.func @main(%x: tensor<512x20xi8>) -> tensor<16x512xi32> {{
  %w = stablehlo.constant dense<"0x{_WEIGHTS[:20, :16].tobytes().hex()}"> : tensor<20x16xi8>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<512x20xi8>, tensor<20x16xi8>) -> tensor<512x16xi32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<512x16xi32>) -> tensor<16x512xi32>
  return %1 : tensor<16x512xi32>
}}
"""

# A signal that is padded for a window which is too large to be read through the padding.
_PADDED = f"""func.func @main(%x: tensor<140xi8>) -> tensor<35x64xi32> {{
  %w = arith.constant dense<"0x{_WEIGHTS[:15].tobytes().hex()}"> : tensor<15x64xi8>
  %zero = arith.constant 0 : i32
  %value = arith.constant 3 : i8
  %p = tensor.pad %x low[7] high[7] {{
  ^bb0(%i: index):
    tensor.yield %value : i8
  }} : tensor<140xi8> to tensor<154xi8>
  %e = tensor.empty() : tensor<35x64xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<35x64xi32>) -> tensor<35x64xi32>
  %0 = linalg.generic {{
      indexing_maps = [affine_map<(d0, d1, d2) -> (d0 * 4 + d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
                       affine_map<(d0, d1, d2) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%p, %w : tensor<154xi8>, tensor<15x64xi8>) outs(%f : tensor<35x64xi32>) {{
  ^bb0(%a: i8, %b: i8, %c: i32):
    %q = arith.extsi %a : i8 to i32
    %r = arith.extsi %b : i8 to i32
    %s = arith.muli %q, %r : i32
    %t = arith.addi %c, %s : i32
    linalg.yield %t : i32
  }} -> tensor<35x64xi32>
  return %0 : tensor<35x64xi32>
}}
"""


def _text(*rows: int) -> str:
    """A function with products of so many rows, each of which has a weight of 128 bytes."""
    numbers = range(len(rows))
    named = "#flow.parameter.named"
    weights = [
        f'util.global private @w{n} = {named}<"model"::"w{n}"> : tensor<8x16xi8>' for n in numbers
    ]
    arguments = ", ".join(f"%x{n}: tensor<{rows[n]}x2x4xi8>" for n in numbers)
    products = "".join(_PRODUCT.format(N=n, ROWS=each) for n, each in enumerate(rows))
    results = ", ".join(f"tensor<{each}x16xi32>" for each in rows)
    values = ", ".join(f"%y{n}" for n in numbers)
    return "\n".join(
        (
            *weights,
            f"util.func @main({arguments}) -> ({results}) {{",
            "  %zero = arith.constant 0 : i32",
            products,
            f"  util.return {values} : {results}",
            "}",
        )
    )


class WideWeightsTest(support.FolderTest):
    def widened(self, text: str, tuning: Tuning = _DEFAULT) -> set[str]:
        """Applies the rewrite; returns which weights became i16, as the IR and the context say."""
        context = Context(target.find(support.ISA), tuning=tuning)
        after = support.rewritten(text, wide_weights.apply, context=context)
        for name in ("w0", "w1"):
            is_wide = f'"{name}"> : tensor<8x16xi16>' in after
            self.assertEqual(is_wide, name in context.widened, name)
        return set(context.widened)

    def test_weights_of_many_rows(self) -> None:
        self.assertEqual(self.widened(_text(32, 31)), {"w0"})
        after = support.rewritten(_text(32), wide_weights.apply)
        self.assertIn("tensor<8x16xi16> into tensor<2x4x16xi16>", after)
        self.assertIn("arith.extsi %in_0 : i16 to i32", after)
        self.assertIn("arith.extsi %in : i8 to i32", after)

    def test_the_most_rows_come_first(self) -> None:
        for size, expected in ((0, set()), (127, set()), (128, {"w1"}), (256, {"w0", "w1"})):
            tuning = Tuning(wide_weights=size)
            self.assertEqual(self.widened(_text(40, 50), tuning), expected, size)

    def test_others_stay(self) -> None:
        text = _text(40, 50)
        twice = text.replace("immutable @w1", "immutable @w0")
        unsigned = text.replace("%q = arith.extsi %b", "%q = arith.extui %b")
        mutable = text.replace("private @w", "private mutable @w").replace(" immutable ", " ")
        for each in (twice, unsigned, mutable):
            self.assertEqual(self.widened(each), set())

    def test_numbers_stay_what_they_are(self) -> None:
        packed = support.lower_text(_MODEL, self.folder).lowered.weights
        (weight,) = packed.table.values()
        self.assertEqual((weight.dtype, weight.shape, weight.is_widened), ("i16", (32, 64), True))
        stored = packed.data[weight.offset : weight.offset + weight.length]
        np.testing.assert_array_equal(np.frombuffer(stored, "<i2"), _WEIGHTS.reshape(-1))

    def test_without_a_kernel_of_our_own_they_stay(self) -> None:
        with mock.patch.object(gemm, "chosen", side_effect=Unsupported("any product")):
            lowered = support.lower_text(_MODEL, self.folder).lowered
        self.assertEqual(lowered.weights.data, _WEIGHTS.tobytes())
        (config,) = lowered.configs
        self.assertNotIn("i16", config.op)

    def test_where_a_kernel_is_faster_with_8_bits_they_stay(self) -> None:
        lowered = support.lower_text(_PLANES, self.folder).lowered
        self.assertEqual(lowered.weights.data, _WEIGHTS[:20, :16].tobytes())
        with mock.patch.object(own_kernels, "is_better_narrow", return_value=False):
            lowered = support.lower_text(_PLANES, self.folder).lowered
        self.assertEqual(len(lowered.weights.data), 2 * _WEIGHTS[:20, :16].size)

    def test_a_padding_that_no_kernel_reads_through_keeps_no_weight_in_8_bits(self) -> None:
        packed = support.lower_text(_PADDED, self.folder).lowered.weights
        (weight,) = packed.table.values()
        self.assertEqual((weight.dtype, weight.is_widened), ("i16", True))

    def lowered(self, text: str, op: str, entry: dict[str, Any]) -> Lowered:
        path = self.write("tuning.json", json.dumps({support.ISA: {op: entry}}))
        return support.lower_text(text, self.folder, tuning=path).lowered

    def test_an_entry_may_name_a_product_whose_weights_stay(self) -> None:
        """Which is known after the pipeline ran with other names."""
        (untuned,) = support.lower_text(_PLANES, self.folder).lowered.configs
        op = untuned.op
        self.assertTrue(op.endswith("i8xi8xi32"), op)
        lowered = self.lowered(_PLANES, op, {"lmul": 4})
        (config,) = lowered.configs
        self.assertEqual((config.op, config.tuned), (op, True))
        self.assertEqual(lowered.weights.data, _WEIGHTS[:20, :16].tobytes())
        misspelt = f"x{op}"
        self.refuses(
            "bad-tuning",
            f"no dispatch is called '{misspelt}'",
            call=lambda: self.lowered(_PLANES, misspelt, {"lmul": 4}),
        )

    def test_an_entry_about_libraries_says_nothing_without_them(self) -> None:
        """With libraries, weights stay in 8 bits, so the product has another name there."""
        for entry in ({"library": None}, {"library": "f"}):
            lowered = self.lowered(_MODEL, "matmul_40x64x32_i8xi8xi32", entry)
            (weight,) = lowered.weights.table.values()
            (config,) = lowered.configs
            self.assertEqual((weight.dtype, config.tuned), ("i16", False))


if __name__ == "__main__":
    unittest.main()
