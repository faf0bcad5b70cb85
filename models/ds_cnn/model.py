"""DS-CNN of MLPerf Tiny: twelve keywords from 49 frames of 10 MFCCs; random weights."""

from __future__ import annotations

import keras
import numpy as np
import numpy.typing as npt
from keras import layers

from bmc.spec import ModelSpec, Tolerance
from models.support import keras_seeded

FRAMES, COEFFICIENTS, WORDS = 49, 10, 12
FILTERS = 64


def _normalized(x: keras.KerasTensor) -> keras.KerasTensor:
    return layers.ReLU()(layers.BatchNormalization()(x))


def architecture() -> keras.Model:
    """DS-CNN: f32 [batch, 49, 10, 1] to twelve probabilities."""
    mfcc = keras.Input((FRAMES, COEFFICIENTS, 1), name="mfcc")
    x = _normalized(layers.Conv2D(FILTERS, (10, 4), 2, padding="same")(mfcc))
    for _ in range(4):
        x = _normalized(layers.DepthwiseConv2D(3, padding="same")(x))
        x = _normalized(layers.Conv2D(FILTERS, 1)(x))
    x = layers.Flatten()(layers.AveragePooling2D((25, 5))(x))
    logits = layers.Dense(WORDS, name="logits")(x)
    return keras.Model(mfcc, layers.Softmax(name="probabilities")(logits))


def _sounds(count: int, seed: int) -> npt.NDArray[np.float32]:
    """Made-up MFCCs that change slowly in time, with weaker higher coefficients."""
    noise = np.random.default_rng(seed).standard_normal((count, FRAMES + 8, COEFFICIENTS))
    slow = np.stack([noise[:, i : i + FRAMES] for i in range(9)]).mean(axis=0) * 3
    return (slow / np.sqrt(1 + np.arange(COEFFICIENTS)))[..., np.newaxis].astype(np.float32)


def keywords() -> ModelSpec:
    """Two sounds, each f32 [1, 49, 10, 1]."""
    keras.utils.set_random_seed(0)
    examples = _sounds(64, seed=0)
    model = architecture()
    keras_seeded.settle(model, examples)
    keras_seeded.settle_logits(model, model.get_layer("logits"), examples)
    return ModelSpec(
        module=model,
        cases=tuple((sound[np.newaxis],) for sound in _sounds(2, seed=1)),
        tolerance=Tolerance(atol=1e-5, rtol=1e-4),
        calibration=tuple((sound[np.newaxis],) for sound in examples),
    )
