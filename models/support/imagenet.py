"""Networks for ImageNet in Keras, with random weights that behave like trained ones."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np

from bmc.spec import ModelSpec, Tolerance
from models.support import keras_seeded, photos


def classifier(
    architecture: Callable[[], keras.Model],
    *,
    size: int,
    logits: str,
    examples: int,
    tolerance: Tolerance,
) -> ModelSpec:
    """One picture, f32 [1, size, size, 3] in -1..1, to a thousand logits.

    Args:
      architecture: makes the model, with Keras's random weights.
      size: height and width of the picture.
      logits: name of the layer that makes the logits.
      examples: number of pictures that determine the ranges of batch normalization and int8.
      tolerance: tolerance of the f32 model.
    """
    keras.utils.set_random_seed(0)
    pictures = photos.crops(examples, size, seed=0)
    model = architecture()
    keras_seeded.settle(model, pictures)
    keras_seeded.settle_logits(model, model.get_layer(logits), pictures)
    return ModelSpec(
        module=model,
        cases=((photos.crops(1, size, seed=1),),),
        tolerance=tolerance,
        output_names=("logits",),
        calibration=tuple((picture[np.newaxis],) for picture in pictures),
    )
