"""TFLite's integers to the last bit: rounding, and files that say the same in other ways."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import support
import tensorflow as tf
import tflite_kit

from bmc.frontends import tflite


def _dense(io: tf.DType = tf.int8) -> bytes:
    """LiteRT rounds its sums once and everything else twice: one element in 200 would differ."""
    weight = np.random.default_rng(5).standard_normal((8, 64)).astype(np.float32)
    return tflite_kit.convert(lambda x: tf.nn.relu(x @ weight), tflite_kit.tensor(64, 8), io=io)


def _renamed(name: Callable[[int], bytes | None]) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        for index, item in enumerate(model.subgraphs[0].tensors):
            item.name = name(index)

    return change


class TfliteBitsTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_dense_layers_are_exact(self) -> None:
        self.agrees(self.load(_dense()))
        with mock.patch.object(tflite, "_SINGLE_ROUND", "#tosa.rounding_mode<DOUBLE_ROUND>"):
            self.rejects(
                "import-disagrees", "something else than LiteRT", "off by 1", data=_dense()
            )

    def test_operators_of_older_converters(self) -> None:
        data = _dense()
        model = self.load(data)
        text = model.mlir.read_bytes()
        older = self.load(tflite_kit.edit(data, tflite_kit.as_before_2_4))
        self.assertEqual(older.mlir.read_bytes(), text)
        np.testing.assert_array_equal(older.golden.outputs, model.golden.outputs)
        self.agrees(older)
        remainder = tflite_kit.convert(
            lambda x: tf.math.floormod(x, 0.25), tflite_kit.tensor(2, 16)
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
