"""Sampling in C is what NumPy computes of the same settings, logits and seed."""

from __future__ import annotations

import os
import subprocess
import unittest
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
MASK = (1 << 64) - 1
COUNT = 300


def bits(values: Sequence[float] | Floats) -> str:
    return " ".join(f"{word:x}" for word in np.asarray(values, np.float32).view(np.uint32))


def target(lines: Sequence[str]) -> list[int]:
    text = "\n".join(lines)
    done = subprocess.run(
        [os.environ["SAMPLE"]], input=text, check=True, stdout=subprocess.PIPE, text=True
    )
    return [int(line, 16) for line in done.stdout.split()]


def randoms(seed: int) -> Iterator[np.float32]:
    """SplitMix64, of which 24 bits are a number from 0 to 1."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        mixed = ((seed ^ seed >> 30) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & MASK
        yield np.float32((mixed ^ mixed >> 31) >> 40) * np.float32(2.0**-24)


def exponentials(x: Floats) -> Floats:
    """e^x, as the program of the target computes it."""
    flat = np.asarray(x, np.float32)
    got = target([f"exp {word:x}" for word in flat.view(np.uint32)])
    return np.array(got, np.uint32).view(np.float32)


def ranking(
    logits: Floats, seen: Sequence[int], temperature: float, top_k: int, penalty: float
) -> tuple[list[int], Floats]:
    """Returns the tokens that are kept, the likeliest first, and what exponentials are of."""
    logits = logits.copy()
    for token in set(seen):
        factor = np.float32(penalty)
        logits[token] = logits[token] / factor if logits[token] > 0 else logits[token] * factor
    order = sorted(range(len(logits)), key=lambda token: (-logits[token], token))[: top_k or None]
    return order, (logits[order] - logits[order[0]]) / np.float32(temperature or 1)


def reference(order: Sequence[int], weights: Floats, top_p: float, random: np.float32) -> int:
    wanted = np.float32(top_p) * np.add.accumulate(weights, dtype=np.float32)[-1]
    sums = np.add.accumulate(weights, dtype=np.float32)
    nucleus = int(np.argmax(sums >= wanted)) + 1
    chosen = random * sums[nucleus - 1]
    behind = np.flatnonzero(sums[: nucleus - 1] > chosen)
    return order[int(behind[0]) if len(behind) else nucleus - 1]


class SampleTest(unittest.TestCase):
    def test_the_exponential_is_exact_to_two_units(self) -> None:
        x = np.concatenate((np.linspace(-87, 0, 20001), -np.logspace(-8, 1, 2000))).astype(
            np.float32
        )
        want = np.exp(x.astype(np.float64))
        unit = np.spacing(want.astype(np.float32)).astype(np.float64)
        self.assertLess(float((abs(exponentials(x) - want) / unit)[1:].max()), 2)
        self.assertEqual(exponentials(np.array([-90, -np.inf], np.float32)).tolist(), [0, 0])

    def test_tokens_are_those_of_numpy(self) -> None:
        settings = [
            (0.0, 0, 1.0, 1.0),
            (1.0, 0, 1.0, 1.0),
            (0.7, 40, 0.95, 1.1),
            (1.3, 5, 1.0, 1.0),
            (0.9, 0, 0.5, 1.3),
            (2.0, 0, 0.99, 0.8),
        ]
        rng = np.random.default_rng(0)
        for temperature, top_k, top_p, penalty in settings:
            number = bits([temperature]), f"{top_k:x}", bits([top_p]), bits([penalty])
            lines = [f"new {' '.join(number)} 7 {COUNT:x}"]
            ranked = []
            for _ in range(40):
                logits = (rng.standard_normal(COUNT) * 3).round(1).astype(np.float32)
                seen = rng.integers(0, COUNT, 20).tolist()
                words = " ".join(f"{token:x}" for token in seen)
                lines.append(f"next {len(seen):x} {words} {bits(logits)}")
                ranked.append(ranking(logits, seen, temperature, top_k, penalty))
            got = target(lines)
            weights = exponentials(np.concatenate([powers for _, powers in ranked]))
            random = randoms(7)
            want = []
            for order, powers in ranked:
                mine, weights = weights[: len(powers)], weights[len(powers) :]
                want.append(
                    order[0] if temperature == 0 else reference(order, mine, top_p, next(random))
                )
            self.assertEqual(got, want)
            # Where chance decides, not all are the likeliest.
            first = [order[0] for order, _ in ranked]
            self.assertEqual(got == first, temperature == 0)

    def test_another_seed_gives_other_tokens(self) -> None:
        logits = bits(np.zeros(COUNT, np.float32))
        number = bits([1.0]), "0", bits([1.0]), bits([1.0])
        lines = [f"next 0 {logits}"] * 20
        one, two = (target([f"new {' '.join(number)} {s} {COUNT:x}", *lines]) for s in (1, 2))
        self.assertNotEqual(one, two)


if __name__ == "__main__":
    unittest.main()
