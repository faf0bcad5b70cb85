"""Pictures for vision models: crops of the two photographs that come with scikit-learn."""

from __future__ import annotations

import functools
import importlib.resources

import numpy as np
import numpy.typing as npt
import tensorflow as tf

_FILES = ("china.jpg", "flower.jpg")
# Side of the smallest crop, as a share of the photograph's shorter side.
_SMALLEST = 0.25


@functools.cache
def _photographs() -> tuple[npt.NDArray[np.uint8], ...]:
    folder = importlib.resources.files("sklearn.datasets.images")
    return tuple(tf.io.decode_jpeg((folder / name).read_bytes()).numpy() for name in _FILES)


def crops(count: int, size: int, seed: int) -> npt.NDArray[np.float32]:
    """Returns `count` square crops with random place, scale and mirroring, alternating the photographs.

    f32 [count, size, size, 3] in -1..1.
    """
    rng = np.random.default_rng(seed)
    pictures = []
    for index in range(count):
        photograph = _photographs()[index % len(_FILES)]
        shorter = min(photograph.shape[:2])
        side = int(shorter * rng.uniform(_SMALLEST, 1))
        top, left = (int(rng.integers(0, extent - side + 1)) for extent in photograph.shape[:2])
        crop = photograph[top : top + side, left : left + side]
        crop = crop[:, :: rng.choice((-1, 1))]
        pictures.append(tf.image.resize(crop, (size, size), antialias=True).numpy() / 127.5 - 1)
    return np.stack(pictures).astype(np.float32)
