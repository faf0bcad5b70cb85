"""Made-up pictures: soft spots of many sizes and colors, with values from 0 to 1.

A network that looks for something in a picture answers noise with nothing at all, and soft spots sometimes with more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bmc import spec
from bmc.artifacts import TensorInfo
from bmc.dtype import Array

# Smaller tensors are no pictures, nor are those with more channels.
_FEWEST_PIXELS, _MOST_CHANNELS = 16, 4
_SPOTS = (3, 10, 30)


def are_pictures(inputs: Sequence[TensorInfo]) -> bool:
    """Whether all inputs are floats with rows, columns and a few channels last."""
    return all(
        info.dtype.is_float
        and len(info.shape) == 4
        and min(info.shape[1:3]) >= _FEWEST_PIXELS
        and info.shape[3] <= _MOST_CHANNELS
        for info in inputs
    )


def case(inputs: Sequence[TensorInfo], index: int) -> spec.Case:
    """Returns case number `index` for inputs that are pictures."""
    rng = np.random.default_rng(index)
    spots = _SPOTS[index % len(_SPOTS)]
    return tuple(_picture(info, spots, rng).astype(info.dtype.numpy) for info in inputs)


def _picture(info: TensorInfo, spots: int, rng: np.random.Generator) -> Array:
    batch, rows, columns, channels = info.shape
    y = np.arange(rows)[:, None] / rows
    x = np.arange(columns)[None] / columns
    picture = np.zeros((batch, rows, columns, channels))
    for spot in range(batch * spots):
        top, left = rng.random(2)
        size = rng.uniform(0.02, 0.32)
        color = rng.uniform(-1.0, 1.0, channels)
        distance = ((y - top) ** 2 + (x - left) ** 2) / (2 * size**2)
        picture[spot % batch] += np.exp(-distance)[..., None] * color
    low, high = picture.min(), picture.max()
    scaled: Array = (picture - low) / (high - low)
    return scaled
