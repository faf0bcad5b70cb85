"""A digit classifier, which the build has trained (training.py).

The target classifies the last 360 of the 1,797 images, which training never sees. Its accuracy must equal PyTorch's.
"""

from __future__ import annotations

import numpy as np
import torch

from bmc.spec import Array, Case, ModelSpec, Tolerance
from bmc.training import weights
from models.mlp import training
from models.mlp.training import HELD_OUT

CALIBRATION = 256
CLOSE = Tolerance(atol=1e-4, rtol=1e-5)
# PyTorch computes the quantized model in floats, where a tie may round to the other side. One step in a
# layer's input changes all logits.
ONE_STEP = Tolerance(atol=0.1, rtol=0.0)


def digits() -> ModelSpec:
    """The trained classifier. Each held-out image is a case of shape f32 [1, 64]."""
    return _digits(CLOSE)


def digits_to_quantize() -> ModelSpec:
    """The same, but outputs may be off by a step."""
    return _digits(ONE_STEP)


def _digits(tolerance: Tolerance) -> ModelSpec:
    images, labels, *parameters = weights(training)
    model = training.architecture().eval()
    names = model.state_dict().keys()
    stored = (torch.from_numpy(parameter) for parameter in parameters)
    model.load_state_dict(dict(zip(names, stored, strict=True)))
    return ModelSpec(
        module=model,
        cases=_cases(images[-HELD_OUT:]),
        tolerance=tolerance,
        labels=labels[-HELD_OUT:],
        input_names=("image",),
        output_names=("logits",),
        calibration=_cases(images[:CALIBRATION]),
    )


def _cases(images: Array) -> tuple[Case, ...]:
    return tuple((image[np.newaxis],) for image in images)
