"""Chooses which parts of a function are computed in strips, so that it needs less memory at a time."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from bmc.strips.outline import Outline

# Stages before and behind one that needs too much that a cut may take with it.
_BEFORE, _BEHIND = 8, 24
# Strips may have so many rows, or a half, a quarter ... of the image.
_FEW = (1, 2, 4, 8)
# Bytes that a cut returns, for each kernel that it would be worth to return them otherwise.
_BYTES_OF_RESULTS = 32


@dataclass(frozen=True, slots=True)
class Cut:
    """Operations of a function that are computed in strips.

    Attributes:
      first, last: the first and the last operation.
      rows: of the first image, for each strip.
      pixels: whether images that strips read or return are pixels, whose rows are in one place each: so a row needs
        no memory before it is computed, and none after it has been read.
    """

    first: int
    last: int
    rows: int
    pixels: bool = False


def cuts(outline: Outline, limit: int) -> tuple[Cut, ...] | None:
    """Returns the cuts with the least work after which about `limit` bytes are alive at once, None if none are."""
    stages = outline.stages
    alive = [outline.bytes_alive(n) for n in range(len(stages))]

    @functools.cache
    def best(begin: int) -> tuple[float, tuple[Cut, ...]] | None:
        hot = next((n for n in range(begin, len(stages)) if alive[n] > limit), None)
        if hot is None:
            return 0.0, ()
        found = []
        for first in range(max(begin, hot - _BEFORE), hot + 1):
            for last in range(hot, min(hot + _BEHIND, len(stages))):
                start = stages[first - 1] + 1 if first else 0
                rows = _rows(outline, start, stages[last], limit)
                behind = best(last + 1) if rows else None
                if behind is not None:
                    cut = Cut(start, stages[last], rows)
                    cost = _cost(outline, cut, last + 1 - first) + behind[0]
                    found.append((cost, (cut, *behind[1])))
        return min(found, key=lambda each: each[0], default=None)

    result = best(0)
    return None if result is None else result[1]


def _rows(outline: Outline, first: int, last: int, limit: int) -> int:
    """Returns the most rows of strips that fit, 0 if none do."""
    stretch = outline.stretch(first, last)
    if stretch is None:
        return 0
    count = stretch.segment.images[stretch.segment.first].rows
    sizes = {size for size in _FEW if size < count} | {
        count >> n for n in range(1, count.bit_length())
    }
    for rows in sorted(sizes, reverse=True):
        if outline.bytes_in_strips(first, last, rows) <= limit:
            return rows
    return 0


def _cost(outline: Outline, cut: Cut, stages: int) -> float:
    """Estimates the work that a cut adds, as a count of kernels: those of strips, and what its results cost.

    They are stored as pixels, so that a strip's rows are in one place, even if planes would suit their readers better.
    """
    stretch = outline.stretch(cut.first, cut.last)
    assert stretch is not None
    images = stretch.segment.images
    results = sum(
        outline.ops[number].rows * outline.ops[number].row_bytes
        for number, image in zip(stretch.numbers, images, strict=True)
        if image.returned
    )
    strips = images[stretch.segment.first].rows / cut.rows
    return (strips - 1) * stages + results / _BYTES_OF_RESULTS
