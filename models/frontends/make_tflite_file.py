"""Writes keras_model.py's network as a .tflite file with int8 weights, calibrated on noise.

What is between the weights is int8, or int16 if the file's name says so. A file named float16 has weights of f16, and
computes in f32.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from models.frontends.keras_model import network


def noise() -> Iterator[list[np.ndarray]]:
    rng = np.random.default_rng(1)
    for _ in range(20):
        yield [rng.random((1, 16, 16, 3), dtype=np.float32)]


converter = tf.lite.TFLiteConverter.from_keras_model(network())
converter.optimizations = [tf.lite.Optimize.DEFAULT]
path = Path(sys.argv[1])
if path.stem == "float16":
    converter.target_spec.supported_types = [tf.float16]
else:
    converter.representative_dataset = noise
    ops, dtype = (
        (tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8, tf.int16)
        if path.stem == "int16"
        else (tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.int8)
    )
    converter.target_spec.supported_ops = [ops]
    converter.inference_input_type = converter.inference_output_type = dtype
path.write_bytes(converter.convert())
