"""Imports MLIR of several dialects, as text and as bytecode, and tests the errors for bad files."""

from __future__ import annotations

import io
import os
import unittest
from unittest import mock

import numpy as np
import support
from iree.compiler import ir

from bmc import artifacts, target
from bmc.artifacts import ImportedModel
from bmc.compile import CompileOptions, compile_model
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import import_model
from bmc.frontends.options import F16, ImportOptions
from bmc.ir import ir_util
from bmc.iree.tool import IreeTool
from bmc.spec import Tolerance

_STABLEHLO = """func.func @main(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.multiply %a, %a : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
"""

_LINALG = """func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) -> tensor<4x5xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x5xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4x5xf32>) -> tensor<4x5xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x5xf32>)
      outs(%f : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
"""

_TOSA = """func.func @main(%x: tensor<1x8x8x4xi8>) -> tensor<1x8x8x8xi32> {
  %w = tosa.const values(dense<2> : tensor<8x3x3x4xi8>) : () -> tensor<8x3x3x4xi8>
  %b = tosa.const values(dense<1> : tensor<8xi32>) : () -> tensor<8xi32>
  %z = tosa.const values(dense<-3> : tensor<1xi8>) : () -> tensor<1xi8>
  %o = tosa.const values(dense<0> : tensor<1xi8>) : () -> tensor<1xi8>
  %0 = tosa.conv2d %x, %w, %b, %z, %o pad([1, 1, 1, 1]) stride([1, 1]) dilation([1, 1]) acc_type(i32)
      : (tensor<1x8x8x4xi8>, tensor<8x3x3x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>)
      -> tensor<1x8x8x8xi32>
  return %0 : tensor<1x8x8x8xi32>
}
"""

# As older versions of MLIR printed it, with attributes in braces.
_OLD_TOSA = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tosa.clamp %x {min_val = 0.0 : f32, max_val = 6.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""

_GENERIC_TOSA = """func.func @main(%x: tensor<4xui8>) -> tensor<4xi8> {
  %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<30> : tensor<1xi8>}> : () -> tensor<1xi8>
  %i = "tosa.const"() <{values = dense<-128> : tensor<1xi8>}> : () -> tensor<1xi8>
  %o = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = "tosa.rescale"(%x, %m, %s, %i, %o) <{scale32 = true, per_channel = false,
      rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>, input_unsigned = true,
      output_unsigned = false}>
      : (tensor<4xui8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}
"""

# As jax.export writes it: `lambda x, i: lax.dynamic_index_in_dim(x, i, 0)`, without JAX's wrapping of negative indices.
_PORTABLE = """vhlo.func_v1 @main(%x: !vhlo.tensor_v1<6x4x!vhlo.f32_v1>, %i: !vhlo.tensor_v1<!vhlo.i32_v1>)
    -> (!vhlo.tensor_v1<1x4x!vhlo.f32_v1>) {
  %z = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<0> : tensor<i32>>}> : () -> !vhlo.tensor_v1<!vhlo.i32_v1>
  %0 = "vhlo.dynamic_slice_v1"(%x, %i, %z) <{slice_sizes = #vhlo.tensor_v1<dense<[1, 4]> : tensor<2xi64>>}>
      : (!vhlo.tensor_v1<6x4x!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.i32_v1>, !vhlo.tensor_v1<!vhlo.i32_v1>)
      -> !vhlo.tensor_v1<1x4x!vhlo.f32_v1>
  "vhlo.return_v1"(%0) : (!vhlo.tensor_v1<1x4x!vhlo.f32_v1>) -> ()
} {arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>, sym_visibility = #vhlo.string_v1<"public">}
"""

# Files of a compiled model that are the same for text and bytecode.
_COMPILED = ("plan.c", "kernels.elf", "weights.bin", "golden.bin")


def _conv(x: Array) -> Array:
    """Computes what _TOSA does. Pixels outside the image have the value of the zero point."""
    padded = np.pad(x.astype(np.int64) + 3, ((0, 0), (1, 1), (1, 1), (0, 0))).sum(3)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2)).sum((3, 4))
    return np.repeat((2 * windows + 1)[..., None], 8, 3).astype(np.int32)


class MlirTest(support.FolderTest):
    def load(self, data: str | bytes, suffix: str = ".mlir", cases: str = "") -> ImportedModel:
        """Imports a file. `cases` is the body of a function that returns Cases."""
        path = self.folder / f"model{suffix}"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        if cases:
            source = f"import numpy as np\nfrom bmc.spec import *\ndef cases():\n    {cases}\n"
            cases = f"{self.write('cases.py', source)}:cases"
        return import_model(str(path), ImportOptions(cases=cases), self.folder / "out")

    def bytecode(self, text: str) -> bytes:
        # Locations contain the file's name, and the kernels' ELF is named after it.
        self.write("model.mlir", text)
        IreeTool(self.folder, self.folder).opt("model.mlir", "model.mlirbc", "--emit-bytecode")
        return (self.folder / "model.mlirbc").read_bytes()

    def test_calls_and_loops_without_end(self) -> None:
        call = "func.func @%s(%%x: tensor<4xf32>) -> tensor<4xf32> {\n  %s  return %%y : tensor<4xf32>\n}\n"
        itself = "%y = func.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
        part = "function 'main' in 'model.mlir' calls itself"
        self.refuses("op-rejected", part, call=lambda: self.load(call % ("main", itself)))
        names = ["main", *(f"f{i}" for i in range(40))]
        twice = "%{0} = func.call @{1}(%{2}) : (tensor<4xf32>) -> tensor<4xf32>\n"
        doubling = "".join(
            call % (name, twice.format("z", after, "x") + twice.format("y", after, "z"))
            for name, after in zip(names, names[1:], strict=False)
        ) + call % (names[-1], "%y = math.sin %x : tensor<4xf32>\n")
        part = "in 'model.mlir' becomes 1,"
        self.refuses("over-limit", part, "--limit nodes=", call=lambda: self.load(doubling))
        loop = """%a = arith.constant 7 : index
  %b = arith.constant 9000000000000000000 : index
  %s = arith.constant 3 : index
  %y = scf.for %i = %a to %b step %s iter_args(%v = %x) -> (tensor<4xf32>) {
    scf.yield %v : tensor<4xf32>
  }
"""
        part = "loop 'scf.for' in 'model.mlir' has 2,999,999,999,999,999,998 trips"
        self.refuses(
            "over-limit", part, "model.mlir:5", call=lambda: self.load(call % ("main", loop))
        )

    def test_dialects_as_text_and_as_bytecode(self) -> None:
        for text, macs, want in (
            (_STABLEHLO, 0, lambda a: a * a),
            (_LINALG, 4 * 5 * 8, lambda a, b: a @ b),
            (_TOSA, 8 * 8 * 8 * 3 * 3 * 4, _conv),
            (_GENERIC_TOSA, 0, lambda x: (x.astype(np.int32) - 128).astype(np.int8)),
        ):
            written = []
            for data, suffix in ((text, ".mlir"), (self.bytecode(text), ".mlirbc")):
                model = self.load(data, suffix)
                self.assertEqual(model.golden.source, artifacts.GOLDEN_IREE_HOST)
                # The golden data comes from the host's runtime, so NumPy checks it here.
                self.assertGreater(len(model.golden.inputs), 1)
                for inputs, outputs in zip(model.golden.inputs, model.golden.outputs, strict=True):
                    np.testing.assert_allclose(outputs[0], want(*inputs), rtol=1e-5, atol=1e-5)
                self.assertTrue(any(np.any(array != 0) for array in model.golden.inputs[0]))
                out = self.folder / "compiled"
                report = compile_model(model, CompileOptions("m", target.find(support.ISA), out))
                self.assertEqual(report["macs"], {"main": macs})
                self.assertTrue(report["dispatches"])
                written.append({file: (out / file).read_bytes() for file in _COMPILED})
            self.assertEqual(*written)

    def test_quantize_f16_leaves_the_model_as_it_is(self) -> None:
        plain = self.load(_LINALG)
        options = ImportOptions(quantize=F16)
        model = import_model(str(self.folder / "model.mlir"), options, self.folder / "out")
        self.assertEqual((plain.f16, model.f16), (False, True))
        self.assertTrue(artifacts.load(self.folder / "out").f16)
        for one, other in zip(plain.golden.outputs, model.golden.outputs, strict=True):
            np.testing.assert_array_equal(one, other)
        (policy,) = model.golden.policies
        self.assertIsInstance(policy, Tolerance)
        self.assertIn("rtol=0.01", str(policy))
        path = self.write("model.mlir", _TOSA)
        self.refuses(
            "bad-spec",
            "the model is quantized to int8",
            call=lambda: import_model(str(path), options, self.folder / "out"),
        )

    def test_the_environment_is_pinned_for_the_import(self) -> None:
        check = (
            "import os; assert os.environ['OMP_NUM_THREADS'] == '1' and 'MKL_X' not in os.environ;"
            " os.environ['OF_THE_CASES'] = 'x';"
            " case = (np.ones((4, 8), np.float32),); return Cases((case,), Exact(), (case,))"
        )
        with mock.patch.dict(os.environ, {"OMP_NUM_THREADS": "3", "MKL_X": "x"}):
            before = dict(os.environ)
            self.load(_STABLEHLO, cases=check)
            self.assertEqual(dict(os.environ), before)

    def test_text_of_another_version(self) -> None:
        self.refuses(
            "op-rejected",
            "'tosa.clamp'",
            "model.mlir:2",
            ".mlirbc",
            "--mlir-print-op-generic",
            call=lambda: self.load(_OLD_TOSA),
        )

    def test_files_that_are_broken(self) -> None:
        data = self.bytecode(_TOSA)
        files: tuple[tuple[str | bytes, str], ...] = (
            ("", ".mlir"),
            ("garbage", ".mlir"),
            (_TOSA[:200], ".mlir"),
            (b"", ".mlirbc"),
            (b"\0" * 64, ".mlirbc"),
            *((data[:length], ".mlirbc") for length in range(1, len(data), len(data) // 5)),
        )
        for broken, suffix in files:
            with self.subTest(broken=broken[:20]), self.assertRaises(BmcError) as caught:
                self.load(broken, suffix)
            self.assertNotIn("\n", caught.exception.message)

    def test_locations_name_no_other_files(self) -> None:
        self.write("secret", "SECRET\n")
        for name in (f"{self.folder}/secret", f"{self.folder}/secret".replace("/", "\\2F")):
            text = _STABLEHLO.replace(
                "tensor<4x8xf32>\n  return", f'tensor<4x7xf32> loc("{name}":1:1)\n  return'
            )
            with self.assertRaises(BmcError):
                self.load(text)
            said = (self.folder / "out" / "reproducer" / "stderr.txt").read_text()
            self.assertIn("error:", said)
            self.assertNotIn("SECRET", said)
            self.assertNotIn(str(self.folder / "secret"), said)

    def test_locations_in_bytecode_name_no_other_files(self) -> None:
        """Neither those of an op that is wrong, nor those that a message about a right one would show."""
        os.mkfifo(self.folder / "fifo")
        at = f'loc(fused<"x">["layer", callsite("n"("{self.folder}/fifo":1:1) at "/dev/zero":1:1)])'
        text = _STABLEHLO.replace(" : tensor<4x8xf32>\n", f" : tensor<4x8xf32> {at}\n", 1)
        self.assertNotEqual(text, _STABLEHLO)
        model = self.load(self.bytecode(text), ".mlirbc")
        data = model.mlir.read_bytes()
        self.assertIn(b"layer", data)
        self.assertNotIn(b"/fifo", data)
        self.assertNotIn(b"/dev", data)
        with ir.Context():
            module = ir.Module.parse(text)
            (block,) = module.body.operations[0].regions[0].blocks
            list(block.operations)[-2].results[0].set_type(ir.Type.parse("tensor<4x7xf32>"))
            wrong = io.BytesIO()
            module.operation.write_bytecode(wrong)
        parts = ("IREE cannot compile op 'stablehlo.multiply'", "at fifo:1")
        self.refuses("op-rejected", *parts, call=lambda: self.load(wrong.getvalue(), ".mlirbc"))

    def test_strides_that_depend_on_data(self) -> None:
        text = """func.func @main(%a: tensor<9xf32>, %i: tensor<index>) -> tensor<2xf32> {
  %j = tensor.extract %i[] : tensor<index>
  %r = tensor.extract_slice %a[0] [2] [%j] : tensor<9xf32> to tensor<2xf32>
  return %r : tensor<2xf32>
}
"""
        part = "a stride of op 'tensor.extract_slice' in 'model.mlir' depends on data"
        self.refuses("op-rejected", part, "model.mlir:3", call=lambda: self.load(text))

    def test_too_many_dimensions(self) -> None:
        text = _STABLEHLO.replace("4x8", "x".join("1" * 40))
        self.refuses("too-large", "has 40 dimensions", call=lambda: self.load(text))

    def test_what_is_for_compilers(self) -> None:
        """Dialects that name files, objects to link, passes to run or code to compile unchanged."""
        parameter = 'util.global private @w = #stream.parameter.named<"s"::"k"> : tensor<4xf32>\n'
        passes = '#util.preprocessing_pipeline<"canonicalize">'
        device = '#hal.device.target<"local", [#hal.executable.target<"llvm-cpu", "x">]>'
        assembly = 'llvm.inline_asm has_side_effects "int3", "" : () -> ()'
        sequence = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op) { transform.yield }
}
"""
        main = _STABLEHLO.partition("{")
        for what, text in (
            ("attribute 'stream.parameter.named'", parameter + _STABLEHLO),
            (
                "attribute 'util.preprocessing_pipeline'",
                f"{main[0]} attributes {{preprocessing_pipeline = {passes}}} {main[1]}{main[2]}",
            ),
            (
                "attribute 'hal.",
                f"module attributes {{hal.device.targets = [{device}]}} {{{_STABLEHLO}}}",
            ),
            ("attribute 'stream.x'", f"module attributes {{stream.x = 1}} {{{_STABLEHLO}}}"),
            ("op 'llvm.inline_asm'", f"{main[0]}{main[1]}\n{assembly}{main[2]}"),
            ("'transform.with_named_sequence'", sequence + _STABLEHLO),
            (
                "'hal.buffer_view'",
                _STABLEHLO.replace(
                    "%a: tensor<4x8xf32>", "%a: tensor<4x8xf32>, %b: !hal.buffer_view"
                ),
            ),
            (
                "op 'util.list.create'",
                f"{main[0]}{main[1]}\n%l = util.list.create : !util.list<i32>{main[2]}",
            ),
        ):
            for data, suffix in ((text, ".mlir"), (self.bytecode(text), ".mlirbc")):
                with self.subTest(what, suffix=suffix):
                    self.refuses(
                        "unsafe-file",
                        what,
                        f"in 'model{suffix}'",
                        call=lambda d=data, s=suffix: self.load(d, s),
                    )
        missing = "func.func private @elsewhere(tensor<4x8xf32>) -> tensor<4x8xf32>\n" + _STABLEHLO
        self.refuses("op-rejected", '"elsewhere"', "no body", call=lambda: self.load(missing))

    def test_a_name_like_an_option(self) -> None:
        path = self.write("--load-pass-plugin=x.mlir", _STABLEHLO)
        self.refuses(
            "bad-name",
            "'--load-pass-plugin=x.mlir'",
            call=lambda: import_model(str(path), ImportOptions(), self.folder / "out"),
        )

    def test_tensors_without_elements(self) -> None:
        model = self.load(_STABLEHLO.replace("4x8", "0x8"))
        self.assertEqual(model.inputs[0].shape, (0, 8))
        self.assertEqual([array.shape for array in model.golden.outputs[0]], [(0, 8)])

    def test_scalars(self) -> None:
        model = self.load(_STABLEHLO.replace("4x8x", ""))
        self.assertEqual(model.inputs[0].shape, ())
        (x,), (y,) = model.golden.inputs[0], model.golden.outputs[0]
        self.assertEqual(x * x, y)

    def test_weights_that_are_not_finite(self) -> None:
        constant = "  %w = stablehlo.constant dense<[VALUE, 1.0]> : tensor<2xf32>\n"
        text = (
            "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
            + constant
            + "  %0 = stablehlo.add %a, %w : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n"
        )
        for value in ("0x7FC00000", "0x7F800000"):  # NaN and infinity
            self.refuses(
                "bad-weight",
                "stablehlo.constant of tensor<2xf32>' contains NaN or Inf",
                call=lambda v=value: self.load(text.replace("VALUE", v)),
            )
        self.load(text.replace("VALUE", "2.0"))

    def test_a_tensor_that_moves_within_itself(self) -> None:
        types = "(tensor<6x8xf32>, tensor<{}x8xf32>, tensor<i32>, tensor<i32>) -> tensor<6x8xf32>"
        text = (
            "func.func @main(%x: tensor<6x8xf32>, %r: tensor<1x8xf32>) -> tensor<6x8xf32> {\n"
            "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
            "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
            "  %rows = stablehlo.slice %x [0:5, 0:8] : (tensor<6x8xf32>) -> tensor<5x8xf32>\n"
            f"  %y = stablehlo.dynamic_update_slice %x, %rows, %one, %zero : {types.format(5)}\n"
            f"  %z = stablehlo.dynamic_update_slice %y, %r, %zero, %zero : {types.format(1)}\n"
            "  return %z : tensor<6x8xf32>\n}\n"
        )
        model = self.load(text)
        for (x, first), (z,) in zip(model.golden.inputs, model.golden.outputs, strict=True):
            np.testing.assert_array_equal(z, np.concatenate([first, x[:5]]))

    def test_portable_artifacts(self) -> None:
        x = "np.arange(24, dtype=np.float32).reshape(6, 4)"
        cases = f"x = {x}; return Cases(((x, np.int32(99)), (x, np.int32(-9))), Exact(), ((x[5:],), (x[:1],)))"
        model = self.load(self.bytecode(_PORTABLE), ".mlirbc", cases)
        with ir.Context():
            ops = {op.name for op in ir_util.walk(ir_util.read(model.mlir).operation)}
        self.assertIn("stablehlo.dynamic_slice", ops)
        both = _PORTABLE + "func.func private @other() {\n  return\n}\n"
        self.refuses("op-rejected", "mixes VHLO with", "'func.func'", call=lambda: self.load(both))

    def test_expected_outputs_that_are_wrong(self) -> None:
        x = "np.full((4, 8), 2, np.float32)"
        for wrong in (0, 1):
            cases = f"return Cases((({x},),), Tolerance(1e-5, 1e-5), (({x} * 2 + {wrong},),))"
            if wrong:
                self.refuses(
                    "import-disagrees",
                    "output output0 of case 0 is off by 1, 32 elements differ",
                    call=lambda c=cases: self.load(_STABLEHLO, cases=c),
                )
            else:
                self.load(_STABLEHLO, cases=cases)

    def test_expected_outputs_are_needed(self) -> None:
        cases = "return Cases(((np.zeros((4, 8), np.float32),),), Exact())"
        part = "1 cases have 0 expected outputs"
        self.refuses("bad-spec", part, call=lambda: self.load(_STABLEHLO, cases=cases))


if __name__ == "__main__":
    unittest.main()
