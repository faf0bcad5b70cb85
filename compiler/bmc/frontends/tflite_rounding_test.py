"""TFLite's integers match bit for bit: rounding, and files that express the same in other ways."""

from __future__ import annotations

import math
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import support
import tensorflow as tf
import tflite_kit
from iree.compiler import ir

from bmc.frontends import tflite, tflite_rounding
from bmc.frontends.tflite_file import TfliteFile
from bmc.ir import ir_util


def _dense(io: tf.DType = tf.int8) -> bytes:
    """Returns a dense layer. LiteRT rounds its sums once; rounded twice, one in 200 would differ."""
    weight = np.random.default_rng(5).standard_normal((8, 64)).astype(np.float32)
    return tflite_kit.convert(lambda x: tf.nn.relu(x @ weight), tflite_kit.tensor(64, 8), io=io)


def _renamed(name: Callable[[int], bytes | None]) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        for index, item in enumerate(model.subgraphs[0].tensors):
            item.name = name(index)

    return change


def _without_rounding(converted: bytes, file: TfliteFile, destination: Path) -> None:
    """Writes what the converter made, as finish() does, but leaves its arithmetic alone."""
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(converted)
        for name in list(module.operation.attributes):
            del module.operation.attributes[name]
        with destination.open("wb") as stream:
            module.operation.write_bytecode(stream)


_AS_CONVERTED = mock.patch.object(tflite_rounding, "finish", _without_rounding)


class TfliteRoundingTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_dense_layers_are_exact(self) -> None:
        self.agrees(self.load(_dense()))
        with _AS_CONVERTED:
            self.rejects("import-disagrees", "disagrees with LiteRT", "off by 1", data=_dense())

    def test_hundreds_of_inputs_are_compared(self) -> None:
        # Double rounding would change one element in 200. With so few elements, a few inputs would not show it.
        weight = np.random.default_rng(5).standard_normal((8, 4)).astype(np.float32)
        data = tflite_kit.convert(lambda x: x @ weight, tflite_kit.tensor(1, 8), io=tf.int8)
        model = self.load(data)
        self.assertEqual(len(model.golden.inputs), 4)
        self.assertIn("on 256 inputs", model.second_reference)
        cases = "return Cases(((np.zeros((1, 8), np.int8),),), Exact())"
        self.assertIn("on 257 inputs", self.load(data, cases).second_reference)
        with _AS_CONVERTED:
            self.rejects("import-disagrees", "off by 1", data=data)
            self.rejects("import-disagrees", "off by 1", data=data, cases=cases)
            with mock.patch.object(tflite, "MOST_SAMPLES", 0):
                self.assertIn("on 1 input:", self.load(data, cases).second_reference)
        # An expensive model is compared on fewer inputs.
        with mock.patch.object(tflite, "SAMPLES_WORK", 7 * (1 * 8 * 4 + 4)):
            self.assertIn("on 7 inputs", self.load(data).second_reference)

    def test_bilinear_resizing_is_exact(self) -> None:
        image = tflite_kit.tensor(1, 4, 4, 2)
        data = tflite_kit.convert(lambda x: tf.image.resize(x, (8, 8)), image, io=tf.int8)
        self.agrees(self.load(data))
        with _AS_CONVERTED:
            self.rejects("import-disagrees", "off by 1", data=data)

    def test_floats_are_quantized_as_litert_does(self) -> None:
        # Values far outside the calibrated range, and ties between two integers.
        function = lambda x: tf.nn.relu(x) * 0.7  # noqa: E731
        data = tflite_kit.convert(function, tflite_kit.tensor(1, 64), io=tf.float32)

        def in_steps_of_a_64th(model: Any) -> None:
            (graph,) = model.subgraphs
            first = next(op for op in graph.operators if op.inputs[0] == graph.inputs[0])
            quantization = graph.tensors[first.outputs[0]].quantization
            quantization.scale, quantization.zeroPoint = [1 / 64], [3]

        ties = "np.arange(-32, 32, dtype=np.float32)[None] / 128"
        far = "np.linspace(-1e6, 1e6, 64, dtype=np.float32)[None]"
        for x in (ties, f"4 * {ties}", far):
            cases = f"return Cases((({x},),), Exact())"
            self.agrees(self.load(tflite_kit.edit(data, in_steps_of_a_64th), cases))
            self.agrees(self.load(data, cases))
        with _AS_CONVERTED:
            tied = f"return Cases((({ties},),), Tolerance(1e-6, 0))"
            wrong = tflite_kit.edit(data, in_steps_of_a_64th)
            self.rejects("import-disagrees", "elements differ", data=wrong, cases=tied)
            self.rejects("import-disagrees", "disagrees", data=data, cases=cases)

    def test_what_quantizes_an_image_is_as_small_for_a_large_one(self) -> None:
        """A constant as large as the image would be a weight of f32 in an int8 model."""
        weight = np.random.default_rng(5).standard_normal((8, 4)).astype(np.float32)
        image = tflite_kit.tensor(64, 8)
        data = tflite_kit.convert(lambda x: x @ weight, image, io=tf.float32)
        model = self.load(data)
        with ir.Context() as context:
            context.allow_unregistered_dialects = True
            module = ir.Module.parse(model.mlir.read_bytes())
            sizes = [
                math.prod(op.results[0].type.shape)
                for op in ir_util.walk(module.operation)
                if op.name == "tosa.const" and str(op.results[0].type.element_type) == "f32"
            ]
        self.assertGreater(len(sizes), 2)
        self.assertEqual(set(sizes), {1})

    def test_floats_are_rounded_to_even(self) -> None:
        data = tflite_kit.convert(tf.round, tflite_kit.tensor(1, 16))
        halves = "np.arange(-8, 8, dtype=np.float32)[None] + np.float32(0.5)"
        edges = (
            "np.array([[-0.0, 0.49999997, -0.49999997, 8388607.5, 8388609, -8388609, 16777215, np.inf,"
            " -np.inf, np.nan, 1e30, -1e-30, 0.5000001, 1.4999999, -0.3, -1.5]], np.float32)"
        )
        cases = f"return Cases((({halves},), ({edges},)), Exact())"
        self.agrees(self.load(data, cases))
        with _AS_CONVERTED:
            self.rejects("import-disagrees", "off by 1", data=data, cases=cases)

    def test_quotients_of_large_integers(self) -> None:
        tensors = [tf.TensorSpec([4], tf.int32)] * 2
        cases = (
            "return Cases(((np.array([-(2**31), 2**31 - 1, -7, 65536 * 3], np.int32),"
            " np.array([-1, -2, 65536, -65537], np.int32)),), Exact())"
        )
        for divide in (tf.math.floordiv, tf.truncatediv):
            data = tflite_kit.convert(divide, *tensors)
            self.agrees(self.load(data, cases))
            with _AS_CONVERTED:
                self.rejects("import-disagrees", "elements differ", data=data, cases=cases)

    def test_operators_of_older_converters(self) -> None:
        data = _dense()
        model = self.load(data)
        text = model.mlir.read_bytes()
        older = self.load(tflite_kit.edit(data, tflite_kit.as_before_2_4))
        self.assertEqual(older.mlir.read_bytes(), text)
        np.testing.assert_array_equal(older.golden.outputs, model.golden.outputs)
        self.agrees(older)
        remainder = tflite_kit.convert(
            lambda x: tf.math.floormod(x, 3), tflite_kit.tensor(2, 16, dtype=tf.int16)
        )
        older_remainder = tflite_kit.edit(remainder, tflite_kit.as_before_2_4)
        self.rejects("op-rejected", "gets op 'FLOOR_MOD' wrong", data=older_remainder)

    def test_names_of_tensors_say_nothing(self) -> None:
        data = _dense()
        for name in (
            lambda index: None,
            lambda index: b"",
            lambda index: b"same",
            lambda index: f'\u00e9"\\{index}'.encode(),
            lambda index: b"\xff%d" % index,
        ):  # fmt: skip
            self.agrees(self.load(tflite_kit.edit(data, _renamed(name))))


if __name__ == "__main__":
    unittest.main()
