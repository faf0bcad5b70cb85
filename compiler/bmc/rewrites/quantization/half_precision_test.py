"""Tests what becomes f16, what stays f32, and which weights are stored."""

from __future__ import annotations

import unittest
from dataclasses import replace

import numpy as np
import support

from bmc import target
from bmc.compile import CompileOptions, compile_model
from bmc.dtype import nearest_f16
from bmc.rewrites.context import Context
from bmc.rewrites.model_context import RESET
from bmc.rewrites.quantization import half_precision

_HEAD = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<8x16xf32>
util.func public @main(%x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %given = iree_tensor_ext.compute_barrier.start %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %w = util.global.load immutable @w : tensor<8x16xf32>
  %empty = tensor.empty() : tensor<4x16xf32>
  %row = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x16xf32>) -> tensor<4x16xf32>
  %none = linalg.fill ins(%zero : f32) outs(%row : tensor<4xf32>) -> tensor<4xf32>
  %p = linalg.matmul ins(%given, %w : tensor<4x8xf32>, tensor<8x16xf32>)
      outs(%start : tensor<4x16xf32>) -> tensor<4x16xf32>
"""
_TAIL = """
  %end = iree_tensor_ext.compute_barrier.end %y : tensor<4x16xf32> -> tensor<4x16xf32>
  util.return %end : tensor<4x16xf32>
}
"""
_EACH = """
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<4x16xf32>) outs(%empty : tensor<4x16xf32>) {
  ^bb0(%a: f32, %old: f32):
    %b = BODY : f32
    linalg.yield %b : f32
  } -> tensor<4x16xf32>
"""
# Squares that are added up, and what is divided by the sums.
_NORMALIZED = """
  %squares = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<4x16xf32>) outs(%empty : tensor<4x16xf32>) {
  ^bb0(%a: f32, %old: f32):
    %b = arith.mulf %a, %a : f32
    linalg.yield %b : f32
  } -> tensor<4x16xf32>
  %sums = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%squares : tensor<4x16xf32>) outs(%none : tensor<4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %b = arith.addf %old, %a : f32
    linalg.yield %b : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %sums : tensor<4x16xf32>, tensor<4xf32>) outs(%empty : tensor<4x16xf32>) {
  ^bb0(%a: f32, %s: f32, %old: f32):
    %b = arith.divf %a, %s : f32
    linalg.yield %b : f32
  } -> tensor<4x16xf32>
"""
# A loop with two results, of which one is not read.
_TWO = """
  %y, %other = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<4x16xf32>) outs(%empty, %empty : tensor<4x16xf32>, tensor<4x16xf32>) {
  ^bb0(%a: f32, %old: f32, %older: f32):
    %b = arith.maximumf %a, %zero : f32
    linalg.yield %b, %a : f32, f32
  } -> (tensor<4x16xf32>, tensor<4x16xf32>)
"""
_WEIGHTS = np.array([[1e5, -1e6, 1e-3], [1.0004, 2**-26, -0.1]], np.float32)
_MODEL = f"""func.func @main(%x: tensor<4x32xf32>) -> tensor<4x48xf32> {{
  %w = stablehlo.constant dense<"0x{np.tile(_WEIGHTS, (16, 16)).tobytes().hex()}"> : tensor<32x48xf32>
  %0 = stablehlo.dot %x, %w : (tensor<4x32xf32>, tensor<32x48xf32>) -> tensor<4x48xf32>
  return %0 : tensor<4x48xf32>
}}
"""


class HalvesTest(support.FolderTest):
    def rewritten(self, middle: str) -> tuple[str, Context]:
        context = Context(target.find("rv64gcv_zfh_zvfh_zvl256b"), f16=True)
        return support.rewritten(
            _HEAD + middle + _TAIL, half_precision.apply, context=context
        ), context

    def test_products_weights_and_simple_operations(self) -> None:
        text, context = self.rewritten(_EACH.replace("BODY", "arith.maximumf %a, %zero"))
        self.assertEqual(context.halved, {"w"})
        self.assertIn('"model"::"w"> : tensor<8x16xf16>', text)
        self.assertIn("-> tensor<4x16xf16>", text)
        self.assertRegex(text, r"arith.maximumf %\w+, %\w+ : f16")
        # The function takes and returns what it did.
        self.assertIn("@main(%arg0: tensor<4x8xf32>) -> tensor<4x16xf32>", text)
        self.assertEqual((text.count("arith.truncf"), text.count("arith.extf")), (1, 1))

    def test_functions_are_computed_in_f32(self) -> None:
        text, _ = self.rewritten(_EACH.replace("BODY", "math.exp %a"))
        self.assertRegex(text, r"math.exp %\w+ : f32")
        self.assertRegex(text, r"linalg.yield %\w+ : f16")

    def test_loops_with_two_results_compute_in_f32(self) -> None:
        text, _ = self.rewritten(_TWO)
        self.assertRegex(text, r"arith.maximumf %\w+, %\w+ : f32")
        self.assertIn("-> (tensor<4x16xf32>, tensor<4x16xf32>)", text)

    def test_sums_that_are_no_products_are_f32(self) -> None:
        text, _ = self.rewritten(_NORMALIZED)
        self.assertRegex(text, r"arith.mulf %\w+, %\w+ : f32\n\s+linalg.yield %\w+ : f32")
        self.assertRegex(text, r"arith.addf %\w+, %\w+ : f32")
        self.assertIn("outs(%", text)
        self.assertRegex(text, r"-> tensor<4xf32>")
        self.assertRegex(text, r"arith.divf %\w+, %\w+ : f32\n\s+%\w+ = arith.truncf")

    def test_what_a_state_begins_with_stays(self) -> None:
        reset = f"""util.func private @{RESET}() -> tensor<8x16xf32> {{
  %w = util.global.load immutable @w : tensor<8x16xf32>
  util.return %w : tensor<8x16xf32>
}}
"""
        context = Context(target.find("rv64gcv_zfh_zvfh_zvl256b"), f16=True)
        text = support.rewritten(
            _HEAD + _EACH.replace("BODY", "arith.negf %a") + _TAIL + reset,
            half_precision.apply,
            context=context,
        )
        self.assertEqual(context.halved, frozenset())
        self.assertIn('"model"::"w"> : tensor<8x16xf32>', text)
        self.assertRegex(text, r"linalg.matmul ins\(%\w+, %\w+ : tensor<4x8xf16>, tensor<8x16xf16>")

    def test_weights_are_rounded_and_stay_finite(self) -> None:
        model = replace(support.import_text(_MODEL, self.folder), f16=True)
        isa = target.find("rv64gcv_zfh_zvfh_zvl256b")
        report = compile_model(model, CompileOptions("m", isa, self.folder / "out"))
        (weight,) = report["weights"]
        data = (self.folder / "out" / "weights.bin").read_bytes()[weight["offset"] :]
        stored = np.frombuffer(data[: weight["length"]], "<f2").reshape(32, 48)
        expected = np.array([[65504, -65504, 1e-3], [1.0, 0, -0.1]]).astype(np.float16)
        np.testing.assert_array_equal(stored[:2, :3], expected)

    def test_infinities_stay(self) -> None:
        given = np.array([np.inf, -np.inf, 7e4], np.float32)
        np.testing.assert_array_equal(nearest_f16(given), [np.inf, -np.inf, 65504])


if __name__ == "__main__":
    unittest.main()
