"""MobileNetV2 at 224x224x3 as in keras.applications; random weights."""

from __future__ import annotations

import keras

from bmc.spec import ModelSpec, Tolerance
from models.support import imagenet


def pictures() -> ModelSpec:
    """One picture, f32 [1, 224, 224, 3], to a thousand logits."""
    return imagenet.classifier(
        lambda: keras.applications.MobileNetV2(weights=None, classifier_activation=None),
        size=224,
        logits="predictions",
        examples=16,
        tolerance=Tolerance(atol=1e-3, rtol=1e-3),
    )
