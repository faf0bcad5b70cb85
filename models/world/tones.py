"""Tones, for models that answer silence with an amplified rounding error."""

from __future__ import annotations

import numpy as np

from bmc.spec import Cases, Tolerance


def tones() -> Cases:
    """Two seconds of three tones in noise at 22,050 Hz, as long as the pitch tracker's window.

    IREE is 9e-5 off from StableHLO, and 3e-7 from TOSA: three times the former, where outputs are of the order of 0.5.
    """
    time = np.arange(43_844) / 22_050
    wave = sum(np.sin(2 * np.pi * pitch * time) for pitch in (220.0, 277.2, 329.6)) / 4
    wave = wave + 0.1 * np.random.default_rng(0).standard_normal(time.size)
    return Cases(((wave.astype(np.float32).reshape(1, -1, 1),),), Tolerance(3e-4, 1e-4))
