"""Two LSTM layers that read a digit row by row, trained during the import on scikit-learn's digits.

The target classifies the last 90 of the 1,797 images, which training never sees.
"""

from __future__ import annotations

import keras
import numpy as np
import sklearn.datasets
from keras import layers

from bmc.spec import ModelSpec, Tolerance

HELD_OUT = 90
UNITS = 64
EPOCHS = 12
BATCH = 32
CALIBRATION = 100


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


def digits() -> ModelSpec:
    """The trained classifier. Each held-out image is a case of shape f32 [1, 8, 8]."""
    return _trained(implementation=2)


def digits_to_quantize() -> ModelSpec:
    """The same with one product per gate.

    Around a split, TFLite's quantization varies from run to run, and parts of it stay in floats.
    """
    return _trained(implementation=1)


def _trained(implementation: int) -> ModelSpec:
    data = sklearn.datasets.load_digits()
    images = (data.images / 16).astype(np.float32)
    labels = data.target.astype(np.int64)
    keras.utils.set_random_seed(0)
    model = architecture(implementation)
    model.compile(keras.optimizers.Adam(0.005), "sparse_categorical_crossentropy")
    model.fit(images[:-HELD_OUT], labels[:-HELD_OUT], BATCH, EPOCHS, verbose=0)
    return ModelSpec(
        module=model,
        cases=tuple((image[np.newaxis],) for image in images[-HELD_OUT:]),
        tolerance=Tolerance(atol=1e-5, rtol=1e-4),
        labels=labels[-HELD_OUT:],
        calibration=tuple((image[np.newaxis],) for image in images[:CALIBRATION]),
    )
