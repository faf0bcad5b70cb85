"""A small U-Net (Ronneberger et al., 2015) that classifies every pixel of a 96x96x3 picture; random weights."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers

from bmc.spec import ModelSpec, Tolerance
from models.support import keras_seeded, photos

SIZE = 96
CLASSES = 4
FILTERS = (8, 16, 32, 64)


def _double(x: keras.KerasTensor, filters: int) -> keras.KerasTensor:
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same")(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return x


def architecture() -> keras.Model:
    """Three levels down and up again: f32 [batch, 96, 96, 3] to f32 [batch, 96, 96, 4]."""
    image = keras.Input((SIZE, SIZE, 3), name="image")
    x = image
    skips = []
    for filters in FILTERS[:-1]:
        skips.append(_double(x, filters))
        x = layers.MaxPooling2D()(skips[-1])
    x = _double(x, FILTERS[-1])
    for filters, skip in zip(FILTERS[-2::-1], reversed(skips), strict=True):
        up = layers.Conv2DTranspose(filters, 2, 2)(x)
        x = _double(layers.Concatenate()([skip, up]), filters)
    return keras.Model(image, layers.Conv2D(CLASSES, 1, name="logits")(x))


def segmentation() -> ModelSpec:
    """One picture, f32 [1, 96, 96, 3]."""
    keras.utils.set_random_seed(0)
    examples = photos.crops(16, SIZE, seed=0)
    model = architecture()
    keras_seeded.settle(model, examples)
    keras_seeded.settle_logits(model, model.get_layer("logits"), examples)
    return ModelSpec(
        module=model,
        cases=tuple((picture[np.newaxis],) for picture in photos.crops(1, SIZE, seed=1)),
        tolerance=Tolerance(atol=1e-4, rtol=1e-4),
        calibration=tuple((picture[np.newaxis],) for picture in examples),
    )
