"""Anomaly detection of MLPerf Tiny: the 640-wide autoencoder (five frames of 128 mel bands); random weights."""

from __future__ import annotations

import keras
import numpy as np
import numpy.typing as npt
from keras import layers

from bmc.spec import ModelSpec, Tolerance
from models.support import keras_seeded

FRAMES, BANDS = 5, 128
WIDTHS = (128, 128, 128, 128, 8, 128, 128, 128, 128)


def architecture() -> keras.Model:
    """The autoencoder: f32 [batch, 640] to f32 [batch, 640]."""
    window = keras.Input((FRAMES * BANDS,), name="window")
    x = window
    for width in WIDTHS:
        x = layers.ReLU()(layers.BatchNormalization()(layers.Dense(width)(x)))
    return keras.Model(window, layers.Dense(FRAMES * BANDS, name="reconstruction")(x))


def _windows(count: int, seed: int) -> npt.NDArray[np.float32]:
    """Made-up spectra: neighboring bands are similar, and frames nearly the same."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((count, 1, BANDS + 15))
    smooth = np.stack([noise[..., i : i + BANDS] for i in range(16)]).mean(axis=0) * 4
    return (
        (smooth + 0.1 * rng.standard_normal((count, FRAMES, BANDS)))
        .reshape(count, -1)
        .astype(np.float32)
    )


def machine() -> ModelSpec:
    """Eight windows, each f32 [1, 640]."""
    keras.utils.set_random_seed(0)
    examples = _windows(128, seed=0)
    model = architecture()
    keras_seeded.settle(model, examples)
    return ModelSpec(
        module=model,
        cases=tuple((window[np.newaxis],) for window in _windows(8, seed=1)),
        tolerance=Tolerance(atol=1e-4, rtol=1e-4),
        calibration=tuple((window[np.newaxis],) for window in examples),
    )
