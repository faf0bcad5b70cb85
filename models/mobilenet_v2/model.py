"""MobileNetV2 at 224x224x3 as in keras.applications; random weights."""

from __future__ import annotations

import keras
import numpy as np

from bmc.spec import ModelSpec, Tolerance
from models.support import keras_seeded, photos

SIZE = 224


def imagenet() -> ModelSpec:
    """One picture, f32 [1, 224, 224, 3], to a thousand logits."""
    keras.utils.set_random_seed(0)
    examples = photos.crops(16, SIZE, seed=0)
    model = keras.applications.MobileNetV2(weights=None, classifier_activation=None)
    keras_seeded.settle(model, examples)
    keras_seeded.settle_logits(model, model.get_layer("predictions"), examples)
    return ModelSpec(
        module=model,
        cases=((photos.crops(1, SIZE, seed=1),),),
        tolerance=Tolerance(atol=1e-3, rtol=1e-3),
        output_names=("logits",),
        calibration=tuple((picture[np.newaxis],) for picture in examples),
    )
