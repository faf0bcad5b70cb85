"""Finds made-up inputs on which a model enlarges roundings, so that no two computations agree on its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

from bmc import answers, spec
from bmc.artifacts import TensorInfo
from bmc.dtype import Array, is_float

# A model rounds more often than once: its inputs move by so many units in the last place of 1, or of themselves.
_UNITS = 4


def judge(
    answer: Callable[[spec.Case], spec.Case],
    infos: Sequence[TensorInfo],
    policies: Sequence[spec.Policy],
) -> Callable[[spec.Case, spec.Case], bool]:
    """Returns a function of inputs and outputs: do the outputs stay the same if floats move by a few roundings?

    They do not for the spectrum of a constant signal, for example: the logarithm of what cancels out is any number.

    Args:
      answer: returns the framework's outputs.
      infos: the model's outputs.
      policies: what the host check allows, one per output.
    """

    def is_steady(given: spec.Case, outputs: spec.Case) -> bool:
        rng = np.random.default_rng(0)
        moved = tuple(_moved(array, rng) for array in given)
        if all(new is old for new, old in zip(moved, given, strict=True)):
            return True
        again = zip(answer(moved), outputs, policies, infos, strict=True)
        return all(
            # Floats that must be exact are moved or chosen, and move with the inputs.
            (isinstance(policy, spec.Exact) and info.dtype.is_float)
            or answers.compare(a, b, policy).ok
            for a, b, policy, info in again
        )

    return is_steady


def _moved(array: Array, rng: np.random.Generator) -> Array:
    if not is_float(array):
        return array
    step = _UNITS * float(ml_dtypes.finfo(array.dtype).eps) * np.maximum(np.abs(array), 1)
    step = np.where(np.isfinite(step), step, 0)
    return np.asarray(array + step * rng.choice((-1, 1), array.shape), array.dtype)
