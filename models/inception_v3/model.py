"""InceptionV3 at 299x299x3 as in keras.applications; random weights."""

from __future__ import annotations

import keras

from bmc.spec import ModelSpec, Tolerance
from models.support import imagenet


def pictures() -> ModelSpec:
    """One picture, f32 [1, 299, 299, 3], to a thousand logits."""
    return imagenet.classifier(
        lambda: keras.applications.InceptionV3(weights=None, classifier_activation=None),
        size=299,
        logits="predictions",
        examples=8,
        tolerance=Tolerance(atol=1e-3, rtol=1e-3),
    )
