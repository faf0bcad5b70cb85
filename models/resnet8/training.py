"""ResNet8 of MLPerf Tiny, trained on scikit-learn's digits, enlarged to 32x32x3."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers

from bmc.spec import Array

HELD_OUT = 5
EPOCHS = 5
BATCH = 32
# The momentum of batch normalization, whose averages must converge within only 280 steps.
MOMENTUM = 0.9


def _unit(x: keras.KerasTensor, filters: int, stride: int) -> keras.KerasTensor:
    y = layers.Conv2D(filters, 3, stride, padding="same")(x)
    y = layers.ReLU()(layers.BatchNormalization(momentum=MOMENTUM)(y))
    y = layers.Conv2D(filters, 3, padding="same")(y)
    y = layers.BatchNormalization(momentum=MOMENTUM)(y)
    if stride > 1:
        x = layers.Conv2D(filters, 1, stride, padding="same")(x)
    return layers.ReLU()(layers.Add()([x, y]))


def architecture() -> keras.Model:
    """ResNet8: f32 [batch, 32, 32, 3] to ten probabilities."""
    image = keras.Input((32, 32, 3), name="image")
    x = layers.Conv2D(16, 3, padding="same")(image)
    x = layers.ReLU()(layers.BatchNormalization(momentum=MOMENTUM)(x))
    for filters, stride in ((16, 1), (32, 2), (64, 2)):
        x = _unit(x, filters, stride)
    x = layers.Flatten()(layers.AveragePooling2D(8)(x))
    return keras.Model(image, layers.Dense(10, activation="softmax", name="probabilities")(x))


def trained() -> list[Array]:
    """Trains the model, never with the last HELD_OUT images.

    Returns images f32 [1797, 8, 8] and labels i64 [1797], which an import then need not load, and the weights.
    """
    import sklearn.datasets

    loaded = sklearn.datasets.load_digits()
    digits, labels = loaded.images.astype(np.float32), loaded.target.astype(np.int64)
    images = enlarged(digits)
    keras.utils.set_random_seed(0)
    model = architecture()
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(images[:-HELD_OUT], labels[:-HELD_OUT], BATCH, EPOCHS, verbose=0)
    return [digits, labels, *model.get_weights()]


def enlarged(digits: Array) -> Array:
    """Returns images f32 [n, 32, 32, 3] of digits f32 [n, 8, 8]."""
    large = np.kron(digits / 8 - 1, np.ones((1, 4, 4), np.float32))
    return np.repeat(large[..., np.newaxis], 3, axis=-1)
