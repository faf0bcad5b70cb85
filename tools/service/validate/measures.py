"""How far the target's answers are from those that are expected."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from bmc import answers, spec
from bmc.dtype import Array

TOP = 5


@dataclasses.dataclass(frozen=True)
class Output:
    """One output over all samples.

    Attributes:
      max_abs: largest |got - want|.
      rms: root of the mean of (got - want)^2.
      cosine: smallest of any row (last dimension) of any sample.
      snr: sum of want^2 over sum of (got - want)^2, in dB; infinite if they are equal.
      step: of which an int8 model's floats are multiples, 1.0 for integers, 0.0 for other floats.
      steps: if there is a step, |got - want| in steps -> how many elements.
      misses: samples outside of the model's tolerance.
    """

    name: str
    max_abs: float
    rms: float
    cosine: float
    snr: float
    step: float
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


def output(
    name: str,
    got: Sequence[Array],
    want: Sequence[Array],
    policy: spec.Policy,
    int8: bool = False,
) -> Output:
    """Measures one output.

    Args:
      name: its name.
      got, want: an array for each sample.
      policy: of the output.
      int8: whether the model is quantized, and its floats may be multiples of a step.
    """
    differences = [answers.compare(g, w, policy) for g, w in zip(got, want, strict=True)]
    all_got, all_want = (answers.numbers(np.stack(side)) for side in (got, want))
    error = answers.errors(all_got, all_want)
    noise = float(np.square(error).sum())
    signal = float(
        np.square(all_want, where=np.isfinite(all_want), out=np.zeros_like(all_want)).sum()
    )
    is_integer = want[0].dtype.kind in "iu"
    step = 1.0 if is_integer else answers.quantization_step(all_want) if int8 else 0.0
    steps: dict[int, int] = {}
    if step and np.isfinite(error).all():
        values, counts = np.unique((error / step).round().astype(np.int64), return_counts=True)
        steps = {int(v): int(c) for v, c in zip(values, counts, strict=True)}
    return Output(
        name,
        max(difference.max_abs for difference in differences),
        math.sqrt(noise / max(error.size, 1)),
        min(difference.min_cosine for difference in differences),
        decibels(signal, noise),
        step,
        steps,
        tuple(index for index, difference in enumerate(differences) if not difference.ok),
    )


def decibels(signal: float, noise: float) -> float:
    """Returns the ratio of two sums of squares in dB, infinite if there is no noise."""
    if not noise:
        return math.inf
    # Errors are infinite where the target alone has a NaN.
    return 10 * math.log10(signal / noise) if signal and math.isfinite(noise) else -math.inf


def classes(got: Sequence[Array], want: Sequence[Array], labels: Array | None) -> Classes | None:
    """Measures the first output as scores of classes; None if a sample has fewer than two scores, or rows of them.

    Args:
      got, want: scores of each sample, of the target and the framework.
      labels: the right class of each sample, each with a score, or None.
    """
    sides = [np.stack([scores.ravel() for scores in side]) for side in (got, want)]
    count = sides[0].shape[1]
    if count < 2 or count != got[0].shape[-1]:
        return None
    ranks = [answers.ranking(side.astype(np.float64)) for side in sides]
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
    confusion = np.zeros((count, count), np.int64)
    np.add.at(confusion, (labels, ranks[0][:, 0]), 1)
    return Classes(agree, shares[0], shares[1], confusion)


def sizes(got: Sequence[Sequence[Array]], want: Sequence[Sequence[Array]]) -> list[float]:
    """Returns the largest error of each sample, relative to the largest value expected of that output.

    Args:
      got, want: for each sample, one array per output.
    """
    scales = [
        max(float(np.abs(sample[i].astype(np.float64)).max(initial=0.0)) for sample in want) or 1.0
        for i in range(len(want[0]))
    ]
    return [
        max(_largest(g, w) / s for g, w, s in zip(a, b, scales, strict=True))
        for a, b in zip(got, want, strict=True)
    ]


def _largest(got: Array, want: Array) -> float:
    error = answers.errors(got.astype(np.float64), want.astype(np.float64))
    return float(error.max(initial=0.0))
