"""Imports Keras models, .keras files, tf.Modules and SavedModels, and tests the errors for bad ones."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import support
import tensorflow as tf
from iree.compiler import ir
from keras import layers

from bmc import artifacts, spec
from bmc.artifacts import ImportedModel
from bmc.frontends import import_model
from bmc.frontends import keras as keras_frontend
from bmc.frontends.options import INT8, ImportOptions
from bmc.ir import ir_util

_AGREES = "IREE's host runtime agrees with the framework"

_MODEL = Path(__file__).with_name("keras_models.py").read_text(encoding="utf-8")

line = functools.partial(support.place, _MODEL)


class KerasTest(support.FolderTest):
    def load(self, source: object, cases: str = "", quantize: str = "") -> ImportedModel:
        """Imports a factory from _MODEL, or a file."""
        path = self.write("model.py", _MODEL)
        if isinstance(source, str):
            source = f"{path}:{source}"
        cases = f"{path}:{cases}" if cases else ""
        options = ImportOptions(cases=cases, quantize=quantize)
        return import_model(str(source), options, self.folder / "out")

    def signature(self, model: ImportedModel) -> list[str]:
        (signature,) = model.signatures
        return [info.describe() for info in (*signature.inputs, *signature.outputs)]

    def rejects(self, source: object, kind: str, *parts: str, **options: str) -> None:
        self.refuses(kind, *parts, call=lambda: self.load(source, **options))

    def test_names_and_order_are_those_of_keras(self) -> None:
        model = self.load("two_inputs")
        self.assertEqual(
            self.signature(model),
            ["right: 2x4xf32", "left: 2x4xi32", "scores: 2x3xf32", "copy: 2x4xi32"],
        )
        self.assertEqual([p.name for p in model.parameters], ["scores/bias", "scores/kernel"])
        self.assertIn(_AGREES, model.second_reference)
        self.assertEqual(model.golden.source, artifacts.GOLDEN_FRAMEWORK)
        # Deterministic, and without any path of this machine.
        data = model.mlir.read_bytes()
        self.assertNotIn(b".py", data, "lines of TensorFlow's own")
        self.assertNotIn(str(self.folder).encode(), data)
        self.assertEqual(self.load("two_inputs").parameters, model.parameters)

    def test_dictionary_of_inputs(self) -> None:
        model = self.load("dictionary")
        self.assertEqual(self.signature(model)[:2], ["left: 2x4xi32", "right: 2x4xf32"])
        self.assertIn(_AGREES, model.second_reference)

    def test_subclass_and_module(self) -> None:
        model = self.load("subclass")
        self.assertEqual(self.signature(model)[2:], ["dense: 2x2xf32", "sum: 2x4xf32"])
        self.assertEqual(len(model.parameters), 2)
        self.assertEqual([p.name for p in self.load("module").parameters], ["weight"])

    def test_model_is_what_calling_it_does(self) -> None:
        for factory in ("called", "called_module"):
            model = self.load(factory)
            self.assertIn(_AGREES, model.second_reference)
            wanted = 30 * model.golden.inputs[0][0]
            self.assertEqual(model.golden.outputs[0][0].tolist(), wanted.tolist())

    def test_model_that_is_another_one_when_traced(self) -> None:
        self.rejects("otherwise", "import-disagrees", "disagrees with TensorFlow", "off by 1,")
        parts = ("TensorFlow exports", "output0 is off by 1")
        self.rejects("otherwise", "import-disagrees", *parts, quantize=INT8)

    def test_scalar(self) -> None:
        model = self.load("scalar")
        self.assertEqual(self.signature(model), ["input0: f32", "output0: f32"])
        self.assertEqual(model.golden.outputs[0][0].item(), 4.0)

    def test_element_types(self) -> None:
        text = _MODEL + "\nimport functools\n"
        types = "bfloat16 float16 float32 int8 uint8 int16 int32 int64 bool"
        for name in types.split():
            text += (
                f"def {name}():\n"
                f"    step = (lambda self, x: ~x if x.dtype == tf.bool else x + tf.cast(1, x.dtype))\n"
                f"    exact = spec.Tolerance(0, 0) if 'float' in '{name}' else spec.Exact()\n"
                f"    return _spec(Function(step), _X.astype('{name}'), tolerance=exact)\n"
            )
        path = self.write("element_types.py", text)
        for name in types.split():
            with self.subTest(name):
                model = import_model(f"{path}:{name}", ImportOptions(), self.folder / "out")
                self.assertIn(_AGREES, model.second_reference)
                self.assertEqual(model.golden.outputs[0][0].dtype.name, name)

    def loops(self, model: ImportedModel) -> int:
        with ir.Context():
            return len(ir_util.all_of(ir_util.read(model.mlir), "stablehlo.while"))

    def test_recurrent_layers(self) -> None:
        model = self.load("recurrent")
        self.assertIn(_AGREES, model.second_reference)
        self.assertEqual(self.loops(model), 0)

    def test_sequences_that_end_early_backwards(self) -> None:
        model = self.load("masked")
        self.assertIn(_AGREES, model.second_reference)
        # Keras unrolls the other half as it should.
        self.assertEqual(self.loops(model), 1)

    def test_recurrent_layers_are_unrolled_only_for_the_export(self) -> None:
        network = keras.Sequential([keras.Input((5, 4)), layers.LSTM(3)])
        cases = ((np.ones((1, 5, 4), np.float32),),)
        given = spec.ModelSpec(network, cases, spec.Tolerance(1e-5, 1e-5))
        unrolled = []
        call = network.call

        def noted(x: Any, **options: Any) -> Any:
            unrolled.append(network.layers[0].unroll)
            return call(x, **options)

        network.call = noted
        keras_frontend.import_spec(
            given, f"{self.write('model.py', '')}:make", ImportOptions(), self.folder
        )
        self.assertEqual(unrolled, [False, True])
        self.assertFalse(network.layers[0].unroll)

    def test_recurrent_layers_in_int8(self) -> None:
        model = self.load("recurrent", quantize=INT8)
        self.assertIn(_AGREES, model.second_reference)
        self.assertEqual(model.golden.policies, (spec.Exact(),))

    def test_int8(self) -> None:
        floats = self.load("vision")
        model = self.load("vision", quantize=INT8)
        names = ["zebra: 1x4xi8", "ape: 1x4xi8", "mouse: 1x4xi8"]
        self.assertEqual(self.signature(model), ["image: 1x8x8x3xi8", *names])
        # A float tolerance means nothing for integers, which must be equal.
        self.assertEqual(model.golden.policies, (spec.Exact(),) * 3)
        self.assertIn(_AGREES, model.second_reference)
        self.assertEqual(model.golden.labels, (0, 1, 2))
        # Each output is a scaled copy of the float output of the same name.
        for index in range(3):
            wanted = np.concatenate([case[index].ravel() for case in floats.golden.outputs])
            got = np.concatenate([case[index].ravel() for case in model.golden.outputs])
            self.assertGreater(np.corrcoef(wanted, got)[0, 1], 0.98)

    def test_int8_without_or_with_wrong_calibration(self) -> None:
        self.rejects("not_calibrated", "no-calibration", "calibration", quantize=INT8)
        parts = ("calibration 0 is (image: 1x8x9x3xf32)", "(image: 1x8x8x3xf32)")
        self.rejects("badly_calibrated", "bad-spec", *parts, quantize=INT8)

    def test_int8_of_a_loop(self) -> None:
        self.rejects("loop", "op-rejected", "no int8 form of loop 'while'", quantize=INT8)

    def test_files(self) -> None:
        keras.utils.set_random_seed(0)
        inputs = keras.Input((4,), name="x")
        network = keras.Model(inputs, layers.Dense(3, name="scores")(inputs))
        network.save(self.folder / "net.keras")
        network.export(self.folder / "saved", verbose=False)
        for name, output in (("net.keras", "scores"), ("saved", "output_0")):
            model = self.load(self.folder / name)
            # The batch is 1 by default.
            self.assertEqual(self.signature(model), ["x: 1x4xf32", f"{output}: 1x3xf32"])
            self.assertEqual([p.name for p in model.parameters], ["scores/bias", "scores/kernel"])
            self.assertIn(_AGREES, model.second_reference)
            self.assertEqual(len(model.golden.inputs), 4)
            for case, expected in zip(model.golden.inputs, model.golden.outputs, strict=True):
                np.testing.assert_allclose(expected[0], network(*case), atol=1e-5)

    def test_cases_fix_the_shapes(self) -> None:
        network = keras.Sequential([keras.Input((None, None, 1)), layers.Conv2D(2, 3, name="c")])
        network.save(self.folder / "net.keras")
        path = self.folder / "net.keras"
        self.rejects(path, "dynamic-shape", "?x?x?x1xf32", "--cases")
        model = self.load(path, cases="pair")
        self.assertEqual(self.signature(model)[1], "c: 2x2x2x2xf32")

    def test_damaged_files(self) -> None:
        network = keras.Sequential([keras.Input((4,)), layers.Dense(3)])
        network.save(self.folder / "net.keras")
        data = (self.folder / "net.keras").read_bytes()
        weight = data.index(network.get_weights()[0].tobytes())
        for name, content in {
            "half.keras": data[: len(data) // 2],
            "text.keras": b"not a model",
            # One bit of a weight, of which only the archive's checksum knows.
            "flipped.keras": data[:weight] + bytes((data[weight] ^ 1,)) + data[weight + 1 :],
        }.items():
            (self.folder / name).write_bytes(content)
            self.rejects(self.folder / name, "bad-file", f"'{name}'")
        network.export(self.folder / "saved", verbose=False)
        graph = self.folder / "saved" / "saved_model.pb"
        graph.write_bytes(graph.read_bytes()[:100])
        self.rejects(self.folder / "saved", "bad-file", "'saved'")
        tf.saved_model.save(tf.Module(), self.folder / "empty")
        self.rejects(self.folder / "empty", "no-main", "'empty' has the signatures []")

    def test_lambda_in_a_file(self) -> None:
        inputs = keras.Input((4,))
        keras.Model(inputs, layers.Lambda(lambda x: x + 1)(inputs)).save(self.folder / "net.keras")
        self.rejects(self.folder / "net.keras", "bad-file", "Lambda", "from a factory")

    def test_tensors_without_elements(self) -> None:
        shapes = [array.shape for array in self.load("empty").golden.outputs[0]]
        self.assertEqual(shapes, [(2, 4), (0, 4), (4,), (2, 0)])

    def test_models_that_cannot_be_exported(self) -> None:
        for factory, kind, *parts in (
            ("stateful", "stateful-model", "changes the model's variable 'counter/count'"),
            ("branch", "export-rejected", "as a Python `bool` is not allowed", line("branch")),
            ("failing", "model-failed", "Matrix size-incompatible", line("mismatch")),
            ("strings", "op-rejected", "XLA cannot compile op 'AsString'", "other ops"),
            ("sized_by_values", "dynamic-shape", "must not depend on values"),
            ("nothing", "bad-signature", "output 0 of the model is of type NoneType"),
            ("number", "bad-signature", "output 1 of the model is of type float"),
            ("ragged_tensor", "bad-signature", "of type RaggedTensor, not a dense tensor"),
            ("no_layers", "bad-spec", "has no layers"),
            ("random", "random-model", "RandomStandardNormal"),
            ("nan", "bad-weight", "'net/scores/kernel' contains NaN"),
            ("wrong_dtype", "bad-spec", "right: 2x4xf64", "right: ?x4xf32"),
            ("too_few", "bad-spec", "tensor0: 2x4xf32", "left: ?x4xi32"),
        ):
            with self.subTest(factory):
                self.rejects(factory, kind, *parts)

    def test_the_user_sees_one_sentence(self) -> None:
        path = self.write("model.py", _MODEL)

        def run(factory: str) -> subprocess.CompletedProcess[str]:
            what = ("import", f"{path}:{factory}", "--out", "out")
            return support.python("-m", "bmc", *what, cwd=self.folder)

        good = run("two_inputs")
        self.assertEqual((good.returncode, good.stderr), (0, ""))
        self.assertEqual(len(good.stdout.splitlines()), 1)
        self.assertEqual(
            json.loads((self.folder / "out" / "import.json").read_text())["frontend"], "keras"
        )
        bad = run("strings")
        self.assertEqual((bad.returncode, bad.stdout), (1, ""))
        sentence = support.without_waiting(bad.stderr)
        self.assertRegex(sentence, r"\Abmc: error\[op-rejected\]: [^\n]*\n  hint: [^\n]*\n\Z")

    def test_made_up_inputs(self) -> None:
        # An index that counts from the end is an error in TensorFlow.
        self.assertEqual(self.load("rows").made_up, ("indices that count from the front",))

    def test_f64_inside(self) -> None:
        (note,) = self.load("doubles").notes
        self.assertRegex(note, r"^stablehlo.exponential.* computes in f64, .* is off by ")

    def test_pytorch_is_not_needed(self) -> None:
        if (
            "TEST_SRCDIR" in os.environ
        ):  # Only Bazel leaves out packages that the test does not name.
            self.assertIsNone(importlib.util.find_spec("torch"))
            self.assertIsNone(importlib.util.find_spec("jax"))
        self.load("module")
        self.assertNotIn("torch", sys.modules)
        self.assertTrue(Path(keras.__file__).is_file())


if __name__ == "__main__":
    unittest.main()
