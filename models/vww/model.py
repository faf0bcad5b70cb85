"""Visual wake words of MLPerf Tiny: MobileNetV1 at a quarter of its width, 96x96x3; random weights."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers

from bmc.spec import ModelSpec, Tolerance
from models.support import keras_seeded, photos

SIZE = 96
# Filters of the pointwise convolutions, and strides of the depthwise ones before them.
BLOCKS = (
    (16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (128, 1), (128, 1), (128, 1),
    (128, 1), (256, 2), (256, 1),
)  # fmt: skip


def _normalized(x: keras.KerasTensor) -> keras.KerasTensor:
    return layers.ReLU()(layers.BatchNormalization()(x))


def architecture() -> keras.Model:
    """MobileNetV1 0.25: f32 [batch, 96, 96, 3] to two probabilities."""
    image = keras.Input((SIZE, SIZE, 3), name="image")
    x = _normalized(layers.Conv2D(8, 3, 2, padding="same")(image))
    for filters, stride in BLOCKS:
        x = _normalized(layers.DepthwiseConv2D(3, stride, padding="same")(x))
        x = _normalized(layers.Conv2D(filters, 1)(x))
    x = layers.Flatten()(layers.AveragePooling2D(3)(x))
    return keras.Model(
        image, layers.Softmax(name="probabilities")(layers.Dense(2, name="logits")(x))
    )


def person() -> ModelSpec:
    """Two pictures, each f32 [1, 96, 96, 3]."""
    keras.utils.set_random_seed(0)
    examples = photos.crops(32, SIZE, seed=0)
    model = architecture()
    keras_seeded.settle(model, examples)
    keras_seeded.settle_logits(model, model.get_layer("logits"), examples)
    return ModelSpec(
        module=model,
        cases=tuple((picture[np.newaxis],) for picture in photos.crops(2, SIZE, seed=1)),
        tolerance=Tolerance(atol=1e-5, rtol=1e-4),
        calibration=tuple((picture[np.newaxis],) for picture in examples),
    )
