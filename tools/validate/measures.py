"""How far the target's answers are from those that are expected."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from bmc import reference, spec
from bmc.dtype import Array

TOP = 5


@dataclasses.dataclass(frozen=True)
class Output:
    """One output over all samples.

    Attributes:
      max_abs: largest |got - want|.
      rms: root of the mean of (got - want)^2.
      cosine: smallest of any sample, each taken as one vector.
      snr: sum of want^2 over sum of (got - want)^2, in dB; infinite if they are equal.
      steps: for integers, |got - want| -> how many elements.
      misses: samples outside of the model's tolerance.
    """

    name: str
    max_abs: float
    rms: float
    cosine: float
    snr: float
    steps: dict[int, int]
    misses: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Classes:
    """Answers to a question with one right class, from argmax of the first output.

    Attributes:
      agree: share of samples for which target and framework name the same class.
      target, framework: share with the right class first, and among the first five; None without labels.
      confusion: confusion[right][named by the target], how many samples; None without labels.
    """

    agree: float
    target: tuple[float, float] | None
    framework: tuple[float, float] | None
    confusion: Array | None


def errors(got: Array, want: Array) -> Array:
    """|got - want| in doubles; 0 where both are the same infinity or NaN, and infinite where one alone is NaN."""
    g, w = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(invalid="ignore"):
        found = np.where((g == w) | (np.isnan(g) & np.isnan(w)), 0.0, np.abs(g - w))
    return np.where(np.isnan(found), np.inf, found)


def output(name: str, got: Sequence[Array], want: Sequence[Array], policy: spec.Policy) -> Output:
    """Measures one output; `got` and `want` have an array for each sample."""
    all_got, all_want = np.stack(got), np.stack(want)
    error = errors(all_got, all_want)
    noise = float(np.square(error).sum())
    signal = float(np.square(all_want.astype(np.float64)).sum())
    steps: dict[int, int] = {}
    if all_want.dtype.kind in "iu":
        values, counts = np.unique(error.astype(np.int64), return_counts=True)
        steps = {int(v): int(c) for v, c in zip(values, counts, strict=True)}
    return Output(
        name,
        float(error.max()),
        math.sqrt(noise / error.size),
        min(_cosine(g, w) for g, w in zip(got, want, strict=True)),
        10 * math.log10(signal / noise)
        if noise and signal
        else math.inf
        if not noise
        else -math.inf,
        steps,
        tuple(
            index
            for index, (g, w) in enumerate(zip(got, want, strict=True))
            if not reference.compare(g, w, policy).ok
        ),
    )


def _cosine(got: Array, want: Array) -> float:
    g, w = got.astype(np.float64).ravel(), want.astype(np.float64).ravel()
    norms = float(np.linalg.norm(g) * np.linalg.norm(w))
    return float(g @ w) / norms if norms else 1.0


def classes(got: Sequence[Array], want: Sequence[Array], labels: Array | None) -> Classes | None:
    """Measures the first output as scores of classes; None if a sample has fewer than two scores, or rows of them.

    Args:
      got, want: scores of each sample, of the target and the framework.
      labels: the right class of each sample, or None.
    """
    sides = [np.stack([scores.ravel() for scores in side]) for side in (got, want)]
    count = sides[0].shape[1]
    if count < 2 or count != got[0].shape[-1]:
        return None
    # A stable order, so that equal scores name the same class on both sides.
    ranks = [np.argsort(-side.astype(np.float64), axis=1, kind="stable") for side in sides]
    agree = float((ranks[0][:, 0] == ranks[1][:, 0]).mean())
    if labels is None:
        return Classes(agree, None, None, None)
    shares = [
        (
            float((rank[:, 0] == labels).mean()),
            float((rank[:, :TOP] == labels[:, None]).any(axis=1).mean()),
        )
        for rank in ranks
    ]
    size = max(count, int(labels.max()) + 1)
    confusion = np.zeros((size, size), np.int64)
    np.add.at(confusion, (labels, ranks[0][:, 0]), 1)
    return Classes(agree, shares[0], shares[1], confusion)


def worst(got: Sequence[Sequence[Array]], want: Sequence[Sequence[Array]]) -> list[int]:
    """Returns the samples in the order of their largest error relative to the largest value expected of that output.

    Args:
      got, want: for each sample, one array per output.
    """
    scales = [
        max(float(np.abs(sample[i].astype(np.float64)).max(initial=0.0)) for sample in want) or 1.0
        for i in range(len(want[0]))
    ]
    size = [
        max(float(errors(g, w).max(initial=0.0)) / s for g, w, s in zip(a, b, scales, strict=True))
        for a, b in zip(got, want, strict=True)
    ]
    return sorted(range(len(size)), key=lambda index: -size[index])
