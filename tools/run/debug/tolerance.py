"""How close values inside a model must be on two targets."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from bmc.report import Model

# How much larger errors may be inside a model than at its outputs, where normalization and similar ops
# have made them small again. BERT's answers are right to 2e-7, but inside errors reach five times its
# tolerance.
_INSIDE = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Tolerance:
    """How close floats must be: |a - b| <= atol * max(1, largest |b|) + rtol * |b|. Integers must be equal.

    A model's own tolerance applies to its outputs; values inside the model may be much larger.
    """

    atol: float
    rtol: float

    def allowed(self, want: npt.NDArray[Any], is_float: bool) -> npt.NDArray[Any]:
        """Returns the largest error that each element of `want`, finite values, may have."""
        size = np.abs(want.astype(np.float64))
        return self.absolute(size) + self.rtol * size if is_float else np.zeros_like(size)

    def absolute(self, want: npt.NDArray[Any]) -> float:
        """Returns the part of it that is the same for all elements."""
        return self.atol * max(1.0, float(np.abs(want).max(initial=0.0)))


def of_report(report: Model) -> Tolerance:
    """The widest tolerance of the model's outputs, enlarged: see _INSIDE."""
    policies = [each for each in report.golden.policies if each.kind == "Tolerance"]
    return Tolerance(
        _INSIDE * max((each.atol for each in policies), default=1e-5),
        _INSIDE * max((each.rtol for each in policies), default=1e-5),
    )
