"""Imports TFLite files from TensorFlow's converter with LiteRT's outputs, and tests the errors for bad ones."""

from __future__ import annotations

import functools
import os
import sys
import unittest
from typing import Any
from unittest import mock

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import support
import tensorflow as tf
import tflite_kit
from tflite_kit import convert as _convert
from tflite_kit import tensor as _tensor

from bmc import artifacts, spec
from bmc.frontends import tflite, tflite_own, tflite_resizes
from bmc.frontends.options import INT8, ImportOptions

_RNG = np.random.default_rng(0)
_WEIGHT = _RNG.standard_normal((8, 4)).astype(np.float32)


def _dense(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu(x @ _WEIGHT)


def _vision(x: tf.Tensor) -> tf.Tensor:
    """Contains every kind of op in a small int8 network."""
    rng = np.random.default_rng(2)

    def weight(*shape: int) -> Any:
        return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)

    x = tf.nn.relu6(tf.nn.conv2d(x, weight(3, 3, 3, 8), 2, "SAME") + weight(8))
    y = tf.nn.depthwise_conv2d(x, weight(3, 3, 8, 1), [1, 1, 1, 1], "SAME")
    x = tf.nn.relu(x + y)
    x = tf.concat([tf.nn.max_pool2d(x, 2, 2, "VALID"), tf.nn.avg_pool2d(x, 2, 2, "VALID")], 3)
    x = tf.reduce_mean(x, [1, 2])
    return tf.nn.softmax(tf.sigmoid(x @ weight(16, 10)) * tf.tanh(x @ weight(16, 10)))


class TfliteTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_int8_is_exact(self) -> None:
        data = _convert(_vision, _tensor(1, 16, 16, 3), io=tf.int8)
        model = self.load(
            data,
            "r = np.random.default_rng(3); return Cases(tuple((r.integers(-128, 128,"
            " (1, 16, 16, 3), np.int8),) for _ in range(8)), Exact())",
        )
        self.describes(model, "x: 1x16x16x3xi8", "Identity: 1x10xi8")
        self.assertEqual(model.golden.source, artifacts.GOLDEN_FRAMEWORK)
        self.assertGreater(len(np.unique(np.stack(model.golden.outputs))), 4)
        self.agrees(model)
        # The MLIR contains none of TFLite's own metadata and no folder.
        text = model.mlir.read_bytes()
        self.assertIn(b"tosa", text)
        self.assertNotIn(b"CONVERSION_METADATA", text)
        self.assertNotIn(str(self.folder).encode(), text)

    def test_one_file_gives_one_import(self) -> None:
        data = _convert(_vision, _tensor(1, 16, 16, 3), io=tf.int8)
        first = self.load(data).mlir.read_bytes()
        self.assertEqual(self.load(data).mlir.read_bytes(), first)

    def test_floats_are_quantized_as_the_file_says(self) -> None:
        for io in (tf.int8, tf.uint8):
            data = _convert(_dense, _tensor(1, 8), io=io)
            x = "np.linspace(-3, 3, 8, dtype=np.float32)[None]"
            model = self.load(data, f"return Cases((({x},),), Exact())")
            (quantized,) = model.golden.inputs[0]
            interpreter = tf.lite.Interpreter(model_content=data)
            scale, zero_point = interpreter.get_input_details()[0]["quantization"]
            restored = (quantized.astype(np.float64) - zero_point) * scale
            limits = np.array([np.iinfo(quantized.dtype).min, np.iinfo(quantized.dtype).max])
            low, high = (limits - zero_point) * scale
            want = np.clip(np.linspace(-3, 3, 8), low, high)
            np.testing.assert_allclose(restored[0], want, atol=scale * 0.51)
            self.agrees(model)

    def test_casts_round_towards_zero(self) -> None:
        data = _convert(lambda x: tf.cast(x * 3.0, tf.int32), _tensor(2, 16))
        model = self.load(data)
        (x,), (y,) = model.golden.inputs[0], model.golden.outputs[0]
        np.testing.assert_array_equal(y, np.trunc(x * np.float32(3)))
        self.assertFalse(np.array_equal(y, np.round(x * np.float32(3))))
        self.agrees(model)

    def test_ops_without_a_reference_kernel(self) -> None:
        self.agrees(self.load(_convert(tf.math.ceil, _tensor(2, 16))))

    def test_files_with_floats(self) -> None:
        for options in ({}, {"optimizations": [tf.lite.Optimize.DEFAULT],
                             "_experimental_new_quantizer": True}):  # fmt: skip
            model = self.load(_convert(_dense, _tensor(2, 8), **options))
            self.describes(model, "x: 2x8xf32", "Identity: 2x4xf32")
            self.agrees(model)
            (policy,) = model.golden.policies
            largest = max(float(np.abs(case[0]).max()) for case in model.golden.outputs)
            self.assertEqual(policy, spec.Tolerance(float(f"{largest * 1e-5:.1e}"), 1e-4))
        self.assertIn((4, 8), [p.shape for p in model.parameters])

    def test_int8_inside_and_float_at_the_border(self) -> None:
        model = self.load(_convert(_dense, _tensor(1, 8), io=tf.float32))
        self.describes(model, "x: 1x8xf32", "Identity: 1x4xf32")
        self.agrees(model)

    def test_element_types(self) -> None:
        double = _tensor(4, dtype=tf.float16)
        for data, described in (
            (_convert(lambda x: x * 2 + 1, _tensor(4, dtype=tf.int32)), "4xi32"),
            (_convert(lambda x: x * 2 + 1, _tensor(4, dtype=tf.int64)), "4xi64"),
            (_convert(tf.logical_not, _tensor(4, dtype=tf.bool)), "4xbool"),
            (_convert(_half, double), "4xf16"),
        ):
            model = self.load(data)
            self.describes(model, f"x: {described}", f"Identity: {described}")
            self.agrees(model)

    def test_scalars(self) -> None:
        model = self.load(_convert(lambda x: x * 2.0 + 1.0, _tensor()))
        self.describes(model, "x: f32", "Identity: f32")
        self.agrees(model)

    def test_order_and_names_are_the_files(self) -> None:
        b, a = _tensor(2, 3, name="b"), _tensor(2, 3, name="a")
        model = self.load(_convert(lambda b, a: (b - a, tf.reduce_sum(b, 1)), b, a))
        self.describes(model, "b: 2x3xf32", "a: 2x3xf32", "Identity: 2x3xf32", "Identity_1: 2xf32")
        (x, y), (difference, total) = model.golden.inputs[0], model.golden.outputs[0]
        np.testing.assert_array_equal(difference, x - y)
        np.testing.assert_allclose(total, x.sum(1), rtol=1e-6)
        self.agrees(model)

    def test_names_of_the_signature(self) -> None:
        class Module(tf.Module):  # type: ignore[misc]
            @tf.function(input_signature=[_tensor(2, name="given")])
            def __call__(self, given):  # type: ignore[no-untyped-def]
                return {"answer": given + 1.0}

        folder = str(self.folder / "saved")
        module = Module()
        tf.saved_model.save(module, folder, signatures=module.__call__)
        data = bytes(tf.lite.TFLiteConverter.from_saved_model(folder).convert())
        self.describes(self.load(data), "given: 2xf32", "answer: 2xf32")

    def test_dynamic_dimensions(self) -> None:
        for io in (None, tf.int8):
            data = _convert(_dense, _tensor(None, 8), io=io)
            kind = "i8" if io else "f32"
            self.describes(self.load(data), f"x: 1x8x{kind}", f"Identity: 1x4x{kind}")
            five = f"np.ones((5, 8), '{'int8' if io else 'float32'}')"
            policy = "Exact()" if io else "Tolerance(1e-5, 1e-5)"
            model = self.load(data, f"return Cases((({five},),), {policy})")
            self.describes(model, f"x: 5x8x{kind}", f"Identity: 5x4x{kind}")
            self.agrees(model)
        data = _convert(_dense, _tensor(1, None, 8))
        self.rejects("dynamic-shape", "dimension 1 of input x: 1x?x8xf32", "--cases", data=data)
        case = "np.ones((1, 3, 8), np.float32)"
        model = self.load(data, f"return Cases((({case},),), Tolerance(1e-5, 1e-5))")
        self.describes(model, "x: 1x3x8xf32", "Identity: 1x3x4xf32")
        self.agrees(model)

    def test_a_factory_may_convert(self) -> None:
        data = _convert(_dense, _tensor(1, 8))
        x = np.ones((1, 8), np.float32)
        model = spec.ModelSpec(
            spec.ModelFile(".tflite", data),
            ((x,), (-x,)),
            spec.Tolerance(1e-5, 1e-5),
            labels=np.array([0, 1]),
            input_names=("features",),
            output_names=("scores",),
        )
        self.folder.joinpath("out").mkdir()
        imported = tflite.import_spec(
            model, "a/model.py:make", ImportOptions(), self.folder / "out"
        )
        self.describes(imported, "features: 1x8xf32", "scores: 1x4xf32")
        self.assertEqual(imported.source, "model.py:make")
        self.assertEqual(imported.golden.labels, (0, 1))

    def test_files_that_are_broken(self) -> None:
        data = _convert(_dense, _tensor(1, 8))
        self.rejects("bad-file", "LiteRT rejects 'model.tflite'", "whole file", data=b"")
        self.rejects("bad-file", "does not begin like a TFLite file", data=b"PK\3\4" * 99)
        self.rejects_beginnings(data, "LiteRT rejects 'model.tflite'")

    def test_weights_that_are_not_finite(self) -> None:
        # TensorFlow would write infinity as the largest float.
        def put(data: bytes, value: float) -> bytes:
            self.assertIn(np.float32(-12345).tobytes(), data)
            return data.replace(np.float32(-12345).tobytes(), np.float32(value).tobytes())

        weight = np.array([-12345, 1, 2, 3], np.float32)
        data = _convert(functools.partial(tf.multiply, weight), _tensor(4, name="y"))
        for value in (np.nan, np.inf, -np.inf):
            part = "weight 'Mul/x' contains NaN or Inf"
            self.rejects("bad-weight", part, data=put(data, value))
        mask = np.array([0, -12345, 0, -12345], np.float32)
        data = _convert(lambda x: tf.nn.softmax(x + mask), _tensor(1, 4))
        self.agrees(self.load(put(data, -np.inf)))

        # Where it only bounds, there is no bound.
        bound = _convert(lambda x: tf.minimum(x, np.float32(-12345)), _tensor(1, 4))
        self.agrees(self.load(put(bound, np.inf)))

    def test_nearest_pixels_in_the_old_form(self) -> None:
        nearest = tf.compat.v1.image.resize_nearest_neighbor
        image = _tensor(1, 4, 3, 2)
        self.agrees(self.load(_convert(lambda x: nearest(x, (8, 9)), image)))
        self.agrees(self.load(_convert(lambda x: nearest(x, (8, 4)), image)))

    def test_ops_that_cannot_be_converted(self) -> None:
        places = _convert(lambda x: tf.gather_nd(x, tf.where(x > 0.0)), _tensor(2, 16))
        self.rejects("dynamic-shape", "op 'WHERE' gives as many results as it finds", data=places)
        remainder = _convert(lambda x: tf.math.floormod(x, 3), _tensor(2, 16, dtype=tf.int16))
        self.rejects("op-rejected", "gets op 'FLOOR_MOD' wrong", "Identity", data=remainder)
        root = _convert(lambda x: tf.sqrt(tf.nn.relu(x)), _tensor(1, 8), io=tf.int8)
        with mock.patch.object(tflite_own, "write", side_effect=lambda data: data):
            self.rejects("op-rejected", "rejects op 'SQRT' of 'model.tflite'", "rsqrt", data=root)
        svd = _convert(lambda x: tf.linalg.svd(x)[0], _tensor(4, 4), allow_custom_ops=True)
        self.rejects("op-rejected", "'Svd'", "not one of TFLite's own", data=svd)

    def test_models_without_outputs(self) -> None:
        def without(model: Any) -> None:
            model.subgraphs[0].outputs, model.signatureDefs = [], None

        data = tflite_kit.edit(_convert(_dense, _tensor(1, 8)), without)
        self.rejects("bad-signature", "the model has no outputs", data=data)

    def test_tensors_without_elements(self) -> None:
        data = _convert(lambda x: tf.concat([x, x], 0), _tensor(0, 4))
        self.rejects(
            "empty-tensor", "of 'model.tflite' has no elements: its shape is 0x4", data=data
        )
        joined = _convert(lambda x, none: tf.concat([x, none], 0) * 2, _tensor(2, 4), _tensor(0, 4))
        self.assertEqual(
            [array.shape for array in self.load(joined).golden.inputs[0]], [(2, 4), (0, 4)]
        )

    def test_cases_that_do_not_fit(self) -> None:
        data = _convert(_dense, _tensor(1, 8))
        float8 = "np.zeros((1, 8), np.float32)"
        close = "Tolerance(1e-5, 1e-5)"
        for cases, part in (
            (f"((np.zeros((1, 9), np.float32),),), {close}", "(x: 1x9xf32) but the model takes"),
            (f"((np.zeros((1, 8), np.int32),),), {close}", "(x: 1x8xi32) but the model takes"),
            (f"(({float8}, {float8}),), {close}", "but the model takes (x: 1x8xf32)"),
            (f"(({float8},), ({float8}[0],)), {close}", "case 1 is (x: 8xf32)"),
            (f"(({float8},),), Exact(), (({float8},),)", "Cases.expected"),
            (f"(({float8},),), IntStep(1, 1)", "IntStep is given"),
        ):
            self.rejects("bad-spec", part, data=data, cases=f"return Cases({cases})")

    def test_several_signatures(self) -> None:
        class Module(tf.Module):  # type: ignore[misc]
            @tf.function(input_signature=[_tensor(2)])
            def one(self, x):  # type: ignore[no-untyped-def]
                return x + 1.0

            @tf.function(input_signature=[_tensor(2)])
            def two(self, x):  # type: ignore[no-untyped-def]
                return x + 2.0

        folder = str(self.folder / "saved")
        module = Module()
        tf.saved_model.save(module, folder, signatures={"one": module.one, "two": module.two})
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=["one", "two"])
        data = bytes(converter.convert())
        self.rejects("bad-signature", "several signatures: one, two", data=data)

    def test_golden_data_is_that_of_the_file(self) -> None:
        data, other = (_convert(lambda x, n=n: x * n, _tensor(1, 8)) for n in (2.0, 3.0))
        with mock.patch.object(tflite_resizes, "centered", return_value=other):
            self.rejects("import-disagrees", "Identity of case", data=data)

    def test_made_up_inputs(self) -> None:
        table = np.random.default_rng(5).standard_normal((9, 4)).astype(np.float32)
        data = _convert(lambda i: tf.gather(table, i), _tensor(3, dtype=tf.int32))
        self.assertEqual(self.load(data).made_up, ("indices that count from the front",))
        data = _convert(lambda i: tf.maximum(i, 3) * 5, _tensor(3, dtype=tf.int32))
        self.assertIn("integers of the whole type", self.load(data).made_up)

    def test_quantized_too_late(self) -> None:
        data = _convert(_dense, _tensor(1, 8))
        self.rejects("bad-option", "Keras model", data=data, quantize=INT8)

    def test_dynamic_range_quantization(self) -> None:
        weight = np.random.default_rng(3).standard_normal((8, 256)).astype(np.float32)
        options = {"optimizations": [tf.lite.Optimize.DEFAULT]}
        data = _convert(lambda x: x @ weight, _tensor(2, 8), **options)
        model = self.load(data)
        self.assertIn("int8 weights", model.notes[0])
        # What the rounding of x to 8 bits changes, but not much more.
        (policy,) = model.golden.policies
        differences = [
            np.abs(x @ weight - y).max() / np.abs(y).max()
            for (x,), (y,) in zip(model.golden.inputs, model.golden.outputs, strict=True)
        ]
        self.assertGreater(max(differences), 1e-3)
        assert isinstance(policy, spec.Tolerance)
        self.assertGreater(policy.rtol, max(differences))
        self.assertLess(policy.rtol, 0.05)
        self.agrees(model)
        x = "np.random.default_rng(4).standard_normal((2, 8)).astype(np.float32)"
        self.agrees(self.load(data, f"return Cases((({x},),), Tolerance(0.1, 0.1))"))

    def test_a_network_that_answers_noise_with_nothing(self) -> None:
        data = _convert(
            lambda x: tf.sigmoid(40.0 * (tf.reduce_mean(x, [1, 2]) - 0.5)), _tensor(1, 64, 64, 3)
        )
        model = self.load(data)
        (x,), (y,) = model.golden.inputs[0], model.golden.outputs[0]
        self.assertEqual((x.min(), x.max()), (0, 1))
        self.assertGreater(y.min(), 1e-3)
        self.agrees(model)

    def test_packages_that_are_missing(self) -> None:
        data = _convert(_dense, _tensor(1, 8))
        with mock.patch.dict(sys.modules, {"ai_edge_litert.interpreter": None}):
            self.rejects("tflite-missing", "ai-edge-litert", "pip install", data=data)
        with mock.patch.dict(sys.modules, {"tosa_converter_for_tflite": None}):
            self.rejects("tflite-missing", "tosa-converter-for-tflite", "pip install", data=data)


def _half(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.cast(x, tf.float32) * 2.0, tf.float16)


if __name__ == "__main__":
    unittest.main()
