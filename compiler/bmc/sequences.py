"""Made-up calls in a row, for quantized models with state.

Noise says little about a model that waits for something, such as a word: its output stays the same. So the calls are
changed at random, and the changes stay that make outputs differ more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bmc import spec
from bmc.artifacts import TensorInfo
from bmc.dtype import Array

# A pattern stays for so many calls at most.
_LONGEST = 8
# Standard deviations of a pattern, and of what calls add to it, as shares of the range of the type.
_CONTRASTS = (0.05, 0.15, 0.5, 1.5)
_NOISE = 0.03


def made_up(
    inputs: Sequence[TensorInfo],
    count: int,
    rounds: int,
    answers: Callable[[tuple[spec.Case, ...]], tuple[spec.Case, ...]],
) -> tuple[spec.Case, ...]:
    """Returns `count` calls whose answers differ from that of the first one.

    Args:
      inputs: the model's inputs, all of which are integers.
      count: how many calls.
      rounds: how many changes to try.
      answers: returns the outputs of calls that begin with the initial state.
    """
    rng = np.random.default_rng(0)
    best = _calls(inputs, count, rng)
    score = _differences(answers(best))
    for _ in range(rounds):
        at = int(rng.integers(count))
        new = _pattern(inputs, rng)
        changed = (*best[:at], *new, *best[at + len(new) :])[:count]
        found = _differences(answers(changed))
        if found >= score:
            best, score = changed, found
    return best


def _calls(
    inputs: Sequence[TensorInfo], count: int, rng: np.random.Generator
) -> tuple[spec.Case, ...]:
    calls: tuple[spec.Case, ...] = ()
    while len(calls) < count:
        calls += _pattern(inputs, rng)
    return calls[:count]


def _pattern(inputs: Sequence[TensorInfo], rng: np.random.Generator) -> tuple[spec.Case, ...]:
    """Returns a few calls with nearly the same inputs. Along all but the last axis, elements are nearly the same."""
    length = int(rng.integers(1, _LONGEST + 1))
    rows = [_row(info, rng) for info in inputs]
    return tuple(
        tuple(_near(row, info, rng) for row, info in zip(rows, inputs, strict=True))
        for _ in range(length)
    )


def _row(info: TensorInfo, rng: np.random.Generator) -> Array:
    limits = np.iinfo(info.dtype.numpy)
    middle = rng.uniform(limits.min, limits.max)
    contrast = rng.choice(_CONTRASTS) * (int(limits.max) - int(limits.min))
    row: Array = middle + contrast * rng.standard_normal(info.shape[-1:])
    return row


def _near(row: Array, info: TensorInfo, rng: np.random.Generator) -> Array:
    limits = np.iinfo(info.dtype.numpy)
    noise = _NOISE * (int(limits.max) - int(limits.min)) * rng.standard_normal(info.shape)
    near: Array = np.clip(np.rint(row + noise), limits.min, limits.max).astype(info.dtype.numpy)
    return near


def _differences(outputs: tuple[spec.Case, ...]) -> float:
    first = outputs[0]
    return float(
        sum(
            np.abs(array.astype(np.float64) - start).sum()
            for case in outputs[1:]
            for array, start in zip(case, first, strict=True)
        )
    )
