"""A small picture classifier in Keras; random weights."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers

from bmc.spec import ModelSpec, Tolerance


def network(dtype: str = "float32") -> keras.Model:
    """Picture, [batch, 16, 16, 3], to the scores of four classes."""
    keras.utils.set_random_seed(0)
    picture = keras.Input((16, 16, 3), name="picture", dtype=dtype)
    x = layers.Conv2D(8, 3, strides=2, activation="relu", padding="same", dtype=dtype)(picture)
    x = layers.DepthwiseConv2D(3, padding="same", dtype=dtype)(x)
    x = layers.BatchNormalization(dtype=dtype)(x)
    x = layers.GlobalAveragePooling2D(dtype=dtype)(x)
    return keras.Model(picture, layers.Dense(4, name="scores", dtype=dtype)(x))


def classifier() -> ModelSpec:
    """The network and two pictures of noise."""
    rng = np.random.default_rng(0)
    cases = tuple((rng.random((1, 16, 16, 3), dtype=np.float32),) for _ in range(2))
    return ModelSpec(network(), cases, Tolerance(atol=1e-5, rtol=1e-5))


def half() -> ModelSpec:
    """The network in f16, and a picture of noise."""
    rng = np.random.default_rng(0)
    case = (rng.random((1, 16, 16, 3), dtype=np.float32).astype(np.float16),)
    return ModelSpec(network("float16"), (case,), tolerance=())
