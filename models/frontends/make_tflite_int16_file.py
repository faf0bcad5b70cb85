"""Writes keras_model.py's network as a .tflite file of int16 with int8 weights, calibrated on noise."""

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
converter.representative_dataset = noise
converter.target_spec.supported_ops = [
    tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
]
converter.inference_input_type = converter.inference_output_type = tf.int16
Path(sys.argv[1]).write_bytes(converter.convert())
