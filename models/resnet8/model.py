"""ResNet8 of MLPerf Tiny, which the build has trained (training.py).

The target classifies the last 5 of the 1,797 images, which training never sees.
"""

from __future__ import annotations

import numpy as np

from bmc.spec import ModelSpec, Tolerance
from bmc.training import weights
from models.resnet8 import training

CALIBRATION = 64


def digits() -> ModelSpec:
    """The trained classifier. Each held-out image is a case of shape f32 [1, 32, 32, 3]."""
    digits, labels, *parameters = weights(training)
    images = training.enlarged(digits)
    model = training.architecture()
    model.set_weights(parameters)
    return ModelSpec(
        module=model,
        cases=tuple((image[np.newaxis],) for image in images[-training.HELD_OUT :]),
        tolerance=Tolerance(atol=1e-4, rtol=1e-4),
        labels=labels[-training.HELD_OUT :],
        calibration=tuple((image[np.newaxis],) for image in images[:CALIBRATION]),
    )
