"""Judges answers as the firmware does (runtime_bm/app/compare.c), which a test compares with this file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bmc import spec
from bmc.dtype import Array, is_float

# The largest atol or rtol.
LARGEST_TOLERANCE = float(np.finfo(np.float32).max)
# Fewer floats may be multiples of a step by chance.
_FEWEST_MULTIPLES = 6
# Those of int16; all floats are multiples of their last bit.
_MOST_STEPS = 65_535
# How far a float may be from a multiple, in steps: it was rounded to f32.
_OFF_THE_MULTIPLE = 0.01


@dataclass(frozen=True)
class Difference:
    """The distance between an output and its expected value.

    Attributes:
      ok: whether the policy holds.
      max_abs: largest |got - want|; a NaN on one side only counts as infinite.
      differing: number of elements that are not equal.
      min_cosine: smallest cosine of any row (last dimension), 1.0 without elements; NaN if a row has a NaN or an
        infinity.
    """

    ok: bool
    max_abs: float
    differing: int
    min_cosine: float


def share(want: Array, got: Array) -> float:
    """Returns the largest distance of finite floats, as a share of the largest one that is wanted; 0 for integers."""
    finite = np.isfinite(want) & np.isfinite(got) if is_float(want) else np.False_
    size = float(np.abs(want).max(initial=0.0, where=finite))
    return float(np.abs(want - got).max(initial=0.0, where=finite)) / size if size else 0.0


def compare(got: Array, want: Array, policy: spec.Policy) -> Difference:
    """Judges one output.

    Args:
      got, want: arrays of one element type.
      policy: how close they must be.
    """
    if got.shape != want.shape:
        return Difference(False, float("inf"), got.size, -1.0)
    g, w = numbers(got), numbers(want)
    error = errors(g, w)
    max_abs = float(error.max(initial=0.0))
    differing = int(np.count_nonzero(error))
    cosine = _min_cosine(g, w)
    if isinstance(policy, spec.Exact):
        ok = _same(got, want, np.isnan(g) & np.isnan(w))
    elif isinstance(policy, spec.IntStep):
        ok = max_abs <= policy.max_step and differing <= policy.max_differing
    else:
        # The firmware has the policy's numbers in f32.
        atol, rtol = (
            float(np.float32(min(number, LARGEST_TOLERANCE)))
            for number in (policy.atol, policy.rtol)
        )
        ok = bool(np.all(error <= atol + rtol * np.abs(np.where(np.isfinite(w), w, 0.0))))
        if policy.min_cosine is not None and policy.min_cosine > -1:
            ok = ok and cosine >= float(np.float32(policy.min_cosine))
    return Difference(ok, max_abs, differing, cosine)


def _same(got: Array, want: Array, both_nan: Array) -> bool:
    """Compares bits, as f64 does not hold all integers of 64 bits, and -0 is not 0; any NaN is as good as another."""
    bits = np.dtype(f"u{got.itemsize}")
    equal = got.view(bits) == want.view(bits)
    return bool(np.all(equal | both_nan))


def numbers(array: Array) -> Array:
    """Returns the values of an array as f64."""
    if array.dtype == np.bool_:
        # A byte of 2 is no truth value.
        array = array.view(np.uint8)
    return array.astype(np.float64)


def errors(got: Array, want: Array) -> Array:
    """|got - want| of two arrays of f64: 0 where both are the same infinity or NaN, infinite where one alone is NaN."""
    with np.errstate(invalid="ignore"):
        both_nan = np.isnan(got) & np.isnan(want)
        found = np.where(both_nan | (got == want), 0.0, np.abs(got - want))
    return np.where(np.isnan(found), np.inf, found)


def quantization_step(want: Array) -> float:
    """Returns the step of which all numbers that an int8 model returns are multiples, 0.0 if there is none."""
    if want.dtype in (np.int8, np.uint8, np.int16):
        return 1.0
    if not is_float(want):
        return 0.0
    values = np.unique(want[np.isfinite(want)].astype(np.float64))
    if values.size < _FEWEST_MULTIPLES:
        return 0.0
    step = float(np.diff(values).min())
    places = (values - values[0]) / step
    if places[-1] > _MOST_STEPS:
        return 0.0
    return step if np.abs(places - places.round()).max() < _OFF_THE_MULTIPLE else 0.0


def ranking(scores: Array) -> Array:
    """Returns the indices of f64 scores along the last axis, best first: NaN is the worst, equal ones stay in order."""
    return np.argsort(-scores, axis=-1, kind="stable")


def _min_cosine(got: Array, want: Array) -> float:
    if got.size == 0:
        return 1.0
    rows = got.shape[-1] if got.ndim else 1
    g, w = got.reshape(-1, rows), want.reshape(-1, rows)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        dot, g_norm, w_norm = (g * w).sum(axis=1), (g * g).sum(axis=1), (w * w).sum(axis=1)
        cosine = dot / (np.sqrt(g_norm) * np.sqrt(w_norm))
    # Two rows of zeros have the same direction; one and another row do not.
    zero = (g_norm == 0) | (w_norm == 0)
    return float(np.where(zero, g_norm == w_norm, cosine).min())
