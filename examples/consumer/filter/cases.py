"""Inputs of the filter, and its outputs, computed with a package of this repository."""

from __future__ import annotations

import numpy as np
from more_itertools import windowed

from bmc.spec import Array, Cases, Tolerance


def ramps() -> Cases:
    """Two ramps, one with noise on it."""
    ramp = np.arange(64, dtype=np.float32).reshape(1, 64)
    noise = np.random.default_rng(1).standard_normal((1, 64)).astype(np.float32)
    inputs = (ramp, 2 * ramp + noise)
    return Cases(
        cases=tuple((samples,) for samples in inputs),
        expected=tuple((_means(samples),) for samples in inputs),
        tolerance=Tolerance(atol=1e-4, rtol=1e-5),
    )


def _means(samples: Array) -> Array:
    means = [np.mean(window) for window in windowed(samples[0].tolist(), 4)]
    return np.array([means], np.float32)
