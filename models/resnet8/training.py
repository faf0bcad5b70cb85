"""ResNet8 of MLPerf Tiny, trained on scikit-learn's digits, enlarged to 32x32x3."""

from __future__ import annotations

import keras
import numpy as np
import numpy.typing as npt
import sklearn.datasets
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
    """Trains the model; returns its weights."""
    images, labels = data()
    keras.utils.set_random_seed(0)
    model = architecture()
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(images[:-HELD_OUT], labels[:-HELD_OUT], BATCH, EPOCHS, verbose=0)
    return list(model.get_weights())


def data() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Returns images f32 [1797, 32, 32, 3] and labels i64 [1797]; training never sees the last HELD_OUT."""
    loaded = sklearn.datasets.load_digits()
    enlarged = np.kron(loaded.images / 8 - 1, np.ones((1, 4, 4)))
    images = np.repeat(enlarged[..., np.newaxis], 3, axis=-1).astype(np.float32)
    return images, loaded.target.astype(np.int64)
