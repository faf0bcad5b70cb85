"""Two LSTM layers that read a digit row by row, trained on scikit-learn's digits."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers

from bmc.spec import Array

HELD_OUT = 90
UNITS = 64
EPOCHS = 12
BATCH = 32


def architecture(implementation: int) -> keras.Model:
    """Two layers of 64 units: f32 [batch, 8, 8], eight rows in time, to ten probabilities.

    Args:
      implementation: Keras's option. 2 splits one product into the four gates, 1 uses four products.
    """
    rows = keras.Input((8, 8), name="rows")
    # An unrolled LSTM consists of fully connected and elementwise layers, which all have int8 forms.
    how = {"unroll": True, "implementation": implementation}
    x = layers.LSTM(UNITS, return_sequences=True, **how)(rows)
    x = layers.LSTM(UNITS, **how)(x)
    return keras.Model(rows, layers.Dense(10, activation="softmax", name="probabilities")(x))


def trained() -> list[Array]:
    """Trains the model, never with the last HELD_OUT images.

    Returns images f32 [1797, 8, 8] in 0..1 and labels i64 [1797], which an import then need not load, and the weights,
    which both implementations have.
    """
    import sklearn.datasets

    data = sklearn.datasets.load_digits()
    images = (data.images / 16).astype(np.float32)
    labels = data.target.astype(np.int64)
    keras.utils.set_random_seed(0)
    model = architecture(implementation=2)
    model.compile(keras.optimizers.Adam(0.005), "sparse_categorical_crossentropy")
    model.fit(images[:-HELD_OUT], labels[:-HELD_OUT], BATCH, EPOCHS, verbose=0)
    return [images, labels, *model.get_weights()]
