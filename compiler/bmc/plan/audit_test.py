"""The audit of int8 models: what counts as a product, what fails the build, what the report says."""

from __future__ import annotations

import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import support

from bmc import target
from bmc.compile import CompileOptions, compile_model
from bmc.facts.products import ProductDispatch
from bmc.iree import phases
from bmc.plan import audit
from bmc.plan.weights import Weight

# Quantized by hand: x and w become f32 and are multiplied, and the result becomes int8 again.
_QDQ = """
#i = affine_map<(d0, d1) -> (d0, d1)>
#s = affine_map<(d0, d1) -> ()>
func.func @main(%x: tensor<4x64xi8>) -> tensor<4x32xi8> {
  %scale = arith.constant 0.05 : f32
  %w = arith.constant dense<3> : tensor<64x32xi8>
  %x_empty = tensor.empty() : tensor<4x64xf32>
  %w_empty = tensor.empty() : tensor<64x32xf32>
  %y_empty = tensor.empty() : tensor<4x32xf32>
  %q_empty = tensor.empty() : tensor<4x32xi8>
  %xf = iree_linalg_ext.dequantize_affine <indexing_maps = [#i, #s, #i], quant_min = -128, quant_max = 127>
      ins(%x, %scale : tensor<4x64xi8>, f32) outs(%x_empty : tensor<4x64xf32>) -> tensor<4x64xf32>
  %wf = iree_linalg_ext.dequantize_affine <indexing_maps = [#i, #s, #i], quant_min = -128, quant_max = 127>
      ins(%w, %scale : tensor<64x32xi8>, f32) outs(%w_empty : tensor<64x32xf32>) -> tensor<64x32xf32>
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%y_empty : tensor<4x32xf32>) -> tensor<4x32xf32>
  %y = linalg.matmul ins(%xf, %wf : tensor<4x64xf32>, tensor<64x32xf32>)
      outs(%init : tensor<4x32xf32>) -> tensor<4x32xf32>
  %q = iree_linalg_ext.quantize_affine <indexing_maps = [#i, #s, #i], quant_min = -128, quant_max = 127>
      ins(%y, %scale : tensor<4x32xf32>, f32) outs(%q_empty : tensor<4x32xi8>) -> tensor<4x32xi8>
  return %q : tensor<4x32xi8>
}
"""
# And a product of floats.
_AND_A_FLOAT = (
    _QDQ.replace(
        "(%x: tensor<4x64xi8>) -> tensor<4x32xi8> {",
        "(%x: tensor<4x64xi8>, %f: tensor<4x64xf32>) -> (tensor<4x32xi8>, tensor<4x32xf32>) {",
    )
    .replace(
        "  return %q : tensor<4x32xi8>",
        """  %v = arith.constant dense<{NUMBERS}> : tensor<64x32xf32>
  %p = linalg.matmul ins(%f, %v : tensor<4x64xf32>, tensor<64x32xf32>)
      outs(%init : tensor<4x32xf32>) -> tensor<4x32xf32>
  return %q, %p : tensor<4x32xi8>, tensor<4x32xf32>""",
    )
    .replace("{NUMBERS}", str([[(7 * i + 3 * j) % 11 / 8 for j in range(32)] for i in range(64)]))
)
# What stock flags can do to it.
_STOCK = "--iree-global-opt-enable-qdq-to-integer-math=false"

# A layer of a TFLite model.
_TOSA = """
func.func @main(%x: tensor<1x8x8x4xi8>) -> tensor<1x8x8x16xi32> {
  %w = "tosa.const"() {values = dense<5> : tensor<16x3x3x4xi8>} : () -> tensor<16x3x3x4xi8>
  %b = "tosa.const"() {values = dense<7> : tensor<16xi32>} : () -> tensor<16xi32>
  %xz = "tosa.const"() {values = dense<-3> : tensor<1xi8>} : () -> tensor<1xi8>
  %wz = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>
  %y = "tosa.conv2d"(%x, %w, %b, %xz, %wz) {acc_type = i32, dilation = array<i64: 1, 1>,
      pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}
      : (tensor<1x8x8x4xi8>, tensor<16x3x3x4xi8>, tensor<16xi32>, tensor<1xi8>, tensor<1xi8>)
      -> tensor<1x8x8x16xi32>
  return %y : tensor<1x8x8x16xi32>
}
"""

_MATMUL = """func.func @main(%x: tensor<4x64xf32>) -> tensor<4x32xf32> {
  %w = stablehlo.constant dense<{WEIGHT}> : tensor<64x32xf32>
  %0 = stablehlo.dot %x, %w : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
"""


# IREE computes a model with f64 inputs in f64.
_F64 = _MATMUL.replace("f32", "f64").replace("{WEIGHT}", "0.5")


class HalvesTest(support.FolderTest):
    def compile(self, text: str, isa: str = "rv64gcv_zfh_zvfh_zvl256b", **parts: str) -> Any:
        model = replace(support.import_text(text, self.folder), f16=True)
        out = self.folder / "out"
        return compile_model(model, CompileOptions("m", target.find(isa), out, None, parts))

    def test_products_of_f32_are_in_f16(self) -> None:
        report = self.compile(_MATMUL.replace("{WEIGHT}", "0.5"))
        self.assertEqual([w["dtype"] for w in report["weights"]], ["f16"])
        self.assertIn("f16", " ".join(each["op"] for each in report["dispatches"]))

    def test_a_product_in_another_type_is_named(self) -> None:
        error = self.refuses(
            "float-dispatch",
            "matmul_4x32x64_f64",
            "of an f16 model adds up products in f64",
            "float_parts",
            call=lambda: self.compile(_F64),
        )
        self.assertEqual(error.where, "source.mlir:3")
        self.compile(_F64, matmul_4x32x64_f64="f64 is wanted")

    def test_what_is_listed_must_be_in_another_type(self) -> None:
        text = _MATMUL.replace("{WEIGHT}", "0.5")
        self.refuses(
            "float-dispatch",
            "float_parts lists 'matmul'",
            call=lambda: self.compile(text, matmul="no reason"),
        )

    def test_an_isa_without_such_vectors_is_refused(self) -> None:
        text = _MATMUL.replace("{WEIGHT}", "0.5")
        self.refuses(
            "no-f16",
            "and rv64gcv_zvl256b has no instructions for that",
            "rv64gcv_zfh_zvfh_zvl256b",
            call=lambda: self.compile(text, "rv64gcv_zvl256b"),
        )


class BuildTest(support.FolderTest):
    def compile(self, text: str, float_parts: dict[str, str] | None = None) -> dict[str, Any]:
        model = replace(support.import_text(text, self.folder), int8=True)
        options = CompileOptions(
            "m", target.find(support.ISA), self.folder / "out", None, float_parts or {}
        )
        return compile_model(model, options)

    def with_stock_flags(self) -> Any:
        return mock.patch.object(phases, "import_flags", return_value=(_STOCK,))

    def test_quantized_product_is_in_integers(self) -> None:
        report = self.compile(_QDQ)["int8"]
        self.assertEqual(len(report["integer_dispatches"]), 1, report)
        self.assertIn("i8xi8xi32", report["integer_dispatches"][0])
        self.assertEqual(report["float_parts"], {})
        self.assertEqual(report["int8_weight_bytes"], 64 * 32)

    def test_layer_of_tflite_is_in_integers(self) -> None:
        report = self.compile(_TOSA)["int8"]
        self.assertEqual(len(report["integer_dispatches"]), 1, report)
        self.assertEqual(report["int8_weight_bytes"], 2 * 16 * 3 * 3 * 4)  # in 16 bits

    def test_product_that_became_float_fails_and_is_named(self) -> None:
        with self.with_stock_flags():
            error = self.refuses(
                "float-dispatch",
                "matmul",
                "adds up products in f32",
                "float_parts",
                call=lambda: self.compile(_QDQ),
            )
        self.assertEqual(error.where, "source.mlir:17")

    def test_it_fails_before_kernels_are_compiled(self) -> None:
        model = replace(support.import_text(_QDQ, self.folder), int8=True)
        keep = self.folder / "keep"
        options = CompileOptions("m", target.find(support.ISA), self.folder / "out", keep=keep)
        with self.with_stock_flags():
            self.refuses("float-dispatch", call=lambda: compile_model(model, options))
        *_, last = sorted(path.stem for path in keep.iterdir())
        self.assertTrue(last.endswith("lowering_configs"), last)

    def test_what_the_hint_names_is_what_is_missing(self) -> None:
        text = _AND_A_FLOAT
        error = self.refuses("float-dispatch", call=lambda: self.compile(text))
        parts = error.hint.partition("float_parts: ")[2].strip("'").split("', '")
        self.assertEqual(len(parts), 2, parts)
        report = self.compile(text, dict.fromkeys(parts, "as a test"))
        self.assertEqual(len(report["int8"]["integer_dispatches"]), 1)

    def test_listing_every_product_leaves_no_int8_model(self) -> None:
        with self.with_stock_flags():
            named = self.refuses("float-dispatch", call=lambda: self.compile(_QDQ)).message
            op = named.split("'")[1]
            self.refuses(
                "float-dispatch",
                "float_parts lists all products of a model with int8 values",
                call=lambda: self.compile(_QDQ, {op: "as a test"}),
            )

    def test_float_model_is_no_int8_model(self) -> None:
        text = _MATMUL.replace("{WEIGHT}", "0.5")
        self.refuses("float-dispatch", "products in f32", call=lambda: self.compile(text))

    def test_a_model_without_products_has_nothing_to_multiply(self) -> None:
        self.compile(support.ADD)

    def test_other_models_are_not_looked_at(self) -> None:
        report = support.compile_text(support.ADD, self.folder)
        self.assertIsNone(report["int8"])


class CheckTest(support.FolderTest):
    INTEGER = ProductDispatch("main_dispatch_0_conv_i8", "conv_i8", "i32", "")
    FLOAT = ProductDispatch("main_dispatch_1_conv_f32", "conv_f32", "f32", "model.py:7")

    def weight(
        self, name: str, dtype: str, *shape: int, offset: int = 0, initial: bool = False
    ) -> Any:
        length = 4096
        return Weight(name, "", dtype, shape, (), "model.py:9", offset, length, "", initial)

    def test_dispatches_are_listed_by_function_or_op(self) -> None:
        both = (self.INTEGER, self.FLOAT)
        self.refuses(
            "float-dispatch",
            "'conv_f32'",
            "model.py:7",
            call=lambda: audit.check_products(both, {}),
        )
        for name in (self.FLOAT.function, self.FLOAT.op):
            audit.check_products(both, {name: "grouped"})
            report = audit.check(both, (), {name: "grouped"})
            self.assertEqual(report["float_parts"], {name: "grouped"})
            self.assertEqual(report["integer_dispatches"], [self.INTEGER.function])

    def test_one_hint_names_all_that_is_to_be_listed(self) -> None:
        other = ProductDispatch("main_dispatch_2_conv_f32", "conv_f32", "f32", "model.py:9")
        last = ProductDispatch("main_dispatch_3_dot_f32", "dot_f32", "f32", "model.py:12")
        found = (self.INTEGER, self.FLOAT, other, last)
        weights = (
            self.weight("w", "f32", 64, 64),
            self.weight("listed", "f32", 64, 64, offset=4096),
            self.weight("small", "i8", 64, 64, offset=8192),
            replace(self.weight("elsewhere", "f32", 64, 64), where="model.py:20"),
        )
        error = self.refuses(
            "float-dispatch",
            call=lambda: audit.check_products(found, {"listed": "grouped"}, lambda: weights),
        )
        self.assertTrue(error.hint.endswith("float_parts: 'conv_f32', 'dot_f32', 'w'"), error.hint)
        audit.check_products(found, dict.fromkeys(("conv_f32", "dot_f32", "w"), "grouped"))
        table = (*weights[:2], replace(weights[3], offset=12288))
        error = self.refuses("float-weight", call=lambda: audit.check(found, table, {}))
        self.assertTrue(error.hint.endswith(": 'w', 'listed', 'elsewhere'"), error.hint)

    def test_large_float_weights_fail(self) -> None:
        table = (
            self.weight("filter", "i8", 64, 64),
            self.weight("positions", "f32", 1, 16, 64, offset=4096),
            self.weight("bias", "f32", 1, 1024, offset=8192),
        )
        self.refuses(
            "float-weight",
            "weight 'positions' of an int8 model is 1x16x64xf32",
            "model.py:9",
            call=lambda: audit.check((self.INTEGER,), table, {}),
        )
        report = audit.check((self.INTEGER,), table, {"positions": "added, not multiplied"})
        self.assertEqual((report["int8_weight_bytes"], report["other_weight_bytes"]), (4096, 8192))

    def test_a_file_that_mixes_needs_no_other_reason(self) -> None:
        table = (self.weight("positions", "f32", 1, 16, 64),)
        report = audit.check((self.INTEGER, self.FLOAT), table, {}, mixed=True)
        reason = "as the file has it"
        self.assertEqual(report["float_parts"], {"conv_f32": reason, "positions": reason})

    def test_what_a_state_begins_with_is_no_weight(self) -> None:
        begins = self.weight("cache", "f32", 64, 64, initial=True)
        report = audit.check((self.INTEGER,), (begins,), {})
        self.assertEqual(report["other_weight_bytes"], 4096)
        # The same bytes are a weight too.
        weight = self.weight("w", "f32", 64, 64)
        for table in ((begins, weight), (weight, begins)):
            self.refuses(
                "float-weight",
                "weight 'w'",
                call=lambda table=table: audit.check((self.INTEGER,), table, {}),
            )

    def test_listing_what_is_not_float_fails(self) -> None:
        self.refuses(
            "float-dispatch",
            "float_parts lists 'conv_i8', which is not in floating point",
            call=lambda: audit.check((self.INTEGER,), (), {"conv_i8": "as a test"}),
        )


class ImportTest(support.FolderTest):
    def test_import_says_so(self) -> None:
        path = self.write("m.mlir", _QDQ)
        done = support.bmc("import", path, "--out", self.folder / "imported")
        self.assertEqual(done.status, 0, done.err)
        text = Path(self.folder / "imported/import.json").read_text(encoding="utf-8")
        self.assertIn('"int8": true', text)


if __name__ == "__main__":
    unittest.main()
