"""How close values inside a model must be on two targets."""

from __future__ import annotations

import dataclasses

import numpy as np

from bmc import answers
from bmc.dtype import Array, is_float
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

    def judge(self, got: Array, want: Array) -> tuple[Array, Array]:
        """Returns the error of each element of `got`, and whether that is more than is allowed.

        Both arrays have one shape, and floats or integers. NaN and infinity are only right where they are wanted.
        """
        error = answers.errors(answers.numbers(got), answers.numbers(want))
        if not is_float(want):
            # f64 does not hold all integers of 64 bits.
            return np.where(got != want, np.maximum(error, 1.0), error), got != want
        return error, error > self.absolute(want) + self.rtol * np.abs(finite(want))

    def absolute(self, want: Array) -> float:
        """Returns the part of what floats are allowed that is the same for all of them."""
        return self.atol * max(1.0, float(np.abs(finite(want)).max(initial=0.0)))


def finite(array: Array) -> Array:
    """Returns the values of an array as f64, with 0 for NaN and infinity."""
    values = answers.numbers(array)
    return np.where(np.isfinite(values), values, 0.0)


def of_report(report: Model) -> Tolerance:
    """The widest tolerance of the model's outputs, enlarged: see _INSIDE."""
    policies = [each for each in report.golden.policies if each.kind == "Tolerance"]
    return Tolerance(
        _INSIDE * max((each.atol for each in policies), default=1e-5),
        _INSIDE * max((each.rtol for each in policies), default=1e-5),
    )
