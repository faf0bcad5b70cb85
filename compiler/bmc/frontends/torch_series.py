"""Chebyshev series of PyTorch's functions of one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

# A series stops before terms this small against its largest one. Its degree is the most that is tried.
_NEGLIGIBLE = 1e-14
_DEGREE = 40


class Series:
    """A Chebyshev series of a function between two numbers.

    Attributes:
      coefficients: of T(0), T(1), ...
      low, high: ends of the interval.
    """

    def __init__(self, function: Callable[[Any], Any], low: float, high: float) -> None:
        import torch
        from torch.utils._python_dispatch import _disable_current_modes

        def values(u: Any) -> Any:
            x = (np.asarray(u) + 1) / 2 * (high - low) + low
            return function(torch.tensor(x, dtype=torch.float64)).numpy()

        with _disable_current_modes():
            found = chebyshev.chebinterpolate(values, _DEGREE)
        kept = np.flatnonzero(np.abs(found) > _NEGLIGIBLE * np.abs(found).max())
        self.coefficients = [float(each) for each in found[: kept[-1] + 1]]
        self.low, self.high = low, high

    def __call__(self, x: Any) -> Any:
        """Returns the sum by Clenshaw's recurrence; `x` is moved into the interval."""
        import torch

        x = x.clamp(self.low, self.high)
        twice = (x - self.low) * (4 / (self.high - self.low)) - 2
        after = before = torch.zeros_like(x)
        for coefficient in reversed(self.coefficients[1:]):
            after, before = twice * after - before + coefficient, after
        return twice * after * 0.5 - before + self.coefficients[0]
