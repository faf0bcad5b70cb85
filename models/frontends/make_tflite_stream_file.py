"""Writes an int8 .tflite file with state: a convolution over time that keeps its last inputs in a variable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

_RNG = np.random.default_rng(1)


class Stream(tf.Module):
    """Takes one row of features per call, and keeps three."""

    def __init__(self) -> None:
        self.last = tf.Variable(tf.zeros((1, 3, 8)), name="last")
        self.kernel = (_RNG.standard_normal((4, 8, 6)) / 4).astype(np.float32)
        self.dense = (_RNG.standard_normal((6, 4)) / 2).astype(np.float32)

    @tf.function(input_signature=[tf.TensorSpec((1, 1, 8), name="row")])
    def __call__(self, row: tf.Tensor) -> tf.Tensor:
        window = tf.concat([self.last, row], 1)
        self.last.assign(window[:, 1:])
        features = tf.nn.relu(tf.nn.conv1d(window, self.kernel, 1, "VALID"))
        return tf.nn.softmax(features[:, 0] @ self.dense)


def noise() -> Iterator[list[np.ndarray]]:
    for _ in range(20):
        yield [_RNG.standard_normal((1, 1, 8)).astype(np.float32)]


stream = Stream()
function = stream.__call__.get_concrete_function()
converter = tf.lite.TFLiteConverter.from_concrete_functions([function], stream)
converter.optimizations = [tf.lite.Optimize.DEFAULT]
converter.representative_dataset = noise
converter.experimental_enable_resource_variables = True
# Otherwise the variable stays float.
converter._experimental_variable_quantization = True
converter.inference_input_type = converter.inference_output_type = tf.int8
Path(sys.argv[1]).write_bytes(converter.convert())
