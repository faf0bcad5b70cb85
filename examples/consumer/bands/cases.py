"""Frames of a signal, and what is in them, computed with a package of this repository."""

from __future__ import annotations

import numpy as np
from more_itertools import chunked

from bmc.spec import Array, Cases, Tolerance

FRAME = 32


def frames() -> Cases:
    """Three frames of a tone with noise."""
    time = np.arange(3 * FRAME)
    noise = np.random.default_rng(1).standard_normal(time.size)
    signal = np.sin(0.4 * time) + 0.1 * noise
    found = [np.array([frame], np.float32) for frame in chunked(signal.tolist(), FRAME)]
    return Cases(
        cases=tuple((frame,) for frame in found),
        expected=tuple((_bands(frame),) for frame in found),
        tolerance=Tolerance(atol=1e-4, rtol=1e-5),
    )


def _bands(frame: Array) -> Array:
    n, band = np.arange(FRAME)[:, None], np.arange(1, 9)[None, :]
    # The model has its weights with four digits.
    cosines = np.round(np.cos(np.pi / FRAME * (n + 0.5) * band), 4)
    return (frame @ cosines).astype(np.float32)
