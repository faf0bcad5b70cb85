"""Two LSTM layers that read a digit row by row, which the build has trained (training.py).

The target classifies the last 90 of the 1,797 images, which training never sees.
"""

from __future__ import annotations

import numpy as np

from bmc.spec import ModelSpec, Tolerance
from bmc.training import weights
from models.lstm import training
from models.lstm.training import HELD_OUT

CALIBRATION = 100


def digits() -> ModelSpec:
    """The trained classifier. Each held-out image is a case of shape f32 [1, 8, 8]."""
    return _trained(implementation=2)


def digits_to_quantize() -> ModelSpec:
    """The same with one product per gate.

    Around a split, TFLite's quantization varies from run to run, and parts of it stay in floats.
    """
    return _trained(implementation=1)


def _trained(implementation: int) -> ModelSpec:
    images, labels, *parameters = weights(training)
    model = training.architecture(implementation)
    model.set_weights(parameters)
    return ModelSpec(
        module=model,
        cases=tuple((image[np.newaxis],) for image in images[-HELD_OUT:]),
        tolerance=Tolerance(atol=1e-5, rtol=1e-4),
        labels=labels[-HELD_OUT:],
        calibration=tuple((image[np.newaxis],) for image in images[:CALIBRATION]),
    )
