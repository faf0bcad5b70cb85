"""The specification of the matrix unit, README.md, in Python, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LOAD, STORE, MULTIPLY = range(3)
SUMS, INT8, INT8_DOWN = range(3)
_SCRATCHPAD = 65536


@dataclass(frozen=True)
class Shape:
    """The words of a shape, by their names in the specification."""

    columns: int = 3
    image_y: int = 40
    image_x: int = 8
    image_output: int = 0
    tap_lines: int = 2
    tap_columns: int = 2
    run: int = 8
    image_tap_y: int = 40
    image_tap_x: int = 8
    mode: int = INT8
    zero: int = 3
    low: int = -100
    high: int = 90

    @property
    def words(self) -> list[int]:
        return [*vars(self).values(), 0, 0, 0]

    @property
    def window(self) -> int:
        return self.tap_lines * self.tap_columns * self.run


class Unit:
    """What lists do to memory, and how long that takes.

    Attributes:
      memory: int8, all that there is.
      pad: the scratchpad.
    """

    def __init__(self, memory: np.ndarray, bases: Sequence[int]) -> None:
        self.memory, self.pad, self._bases = memory, np.zeros(_SCRATCHPAD, np.int8), bases

    def run(self, shape: Shape, jobs: Sequence[Sequence[int]]) -> tuple[int, int, int]:
        """Runs a list that is right; returns the cycles of MULTIPLIED, COPIED and BUSY."""
        free, ends = [0, 0], [[0], [0]]
        spans = []
        for job in jobs:
            queue = int(job[0] == MULTIPLY)
            start = max(free[queue] + 4, ends[1 - queue][job[1]])
            end = start + self.job(shape, job)
            free[queue] = end
            ends[queue].append(end)
            spans.append((queue, start, end))
        busy = {cycle for _, start, end in spans for cycle in range(start, end)}
        copied, multiplied = (
            sum(end - start for queue, start, end in spans if queue == q) for q in (0, 1)
        )
        return multiplied, copied, len(busy)

    def job(self, shape: Shape, job: Sequence[int]) -> int:
        """Runs one job; returns its cycles."""
        kind, _, *words = job
        return self._multiply(shape, *words) if kind == MULTIPLY else self._copy(kind, *words)

    def _copy(
        self, kind: int, base: int, offset: int, place: int, size: int, lines: int, step: int
    ) -> int:
        for line in range(lines):
            at = self._bases[base] + offset + line * step
            inside = slice(place + line * size, place + (line + 1) * size)
            if kind == LOAD:
                self.pad[inside] = self.memory[at : at + size]
            else:
                self.memory[at : at + size] = self.pad[inside]
        return 32 + lines * (1 + -(-size // 8))

    def _multiply(
        self,
        s: Shape,
        image: int,
        weights: int,
        numbers: int,
        result: int,
        lines: int,
        outputs: int,
    ) -> int:
        y, x, o, v, u, r = np.ix_(
            *map(range, (lines, s.columns, outputs, s.tap_lines, s.tap_columns, s.run))
        )
        at = image + y * s.image_y + x * s.image_x + o * s.image_output
        windows = self.pad[at + v * s.image_tap_y + u * s.image_tap_x + r].astype(np.int64)
        matrix = self.pad[weights : weights + outputs * s.window].astype(np.int64)
        matrix = matrix.reshape(outputs, s.tap_lines, s.tap_columns, s.run)
        sums = (windows * matrix).sum((3, 4, 5))
        if s.mode == SUMS:
            found = sums.astype("<i4").view(np.int8)
        else:
            raw = self.pad[numbers : numbers + 12 * outputs].view("<i4").astype(np.int64)
            bias, multiplier, shift = raw.reshape(3, outputs)
            biased = sums + bias
            value = (biased * multiplier + 2**30) >> 31
            value -= (biased < 0) & (s.mode == INT8_DOWN)
            value = ((value + (1 << shift >> 1)) >> shift) + s.zero
            found = np.clip(value, s.low, s.high).astype(np.int8)
        self.pad[result : result + found.size] = found.reshape(-1)
        reads = s.window if s.image_output else s.tap_lines * s.tap_columns * -(-s.run // 16)
        return 32 + lines * s.columns * reads * -(-outputs // 16)
