"""Cuts a problem into pieces for several harts; each piece is a workgroup.

One or two loops over results are cut, so no two pieces write the same element. If an extent is not a multiple of the
number of pieces, some pieces have one iteration more, and there are two kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol, Self

from bmc.kernels.problem.product import Loop
from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.unsupported import Unsupported

# Estimated instructions of each workgroup to find out where its piece begins.
_WORKGROUP_COST = 80
# Ways to cut for which kernels are written and compared, at most.
_MOST_WRITTEN = 6
# Ways whose largest piece is this many times the smallest possible one are not considered.
_TOO_LARGE = 1.5


class Whole(Protocol):
    """A problem that can be cut: a product, a reduction, or an elementwise operation."""

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops over results."""

    def cut(self, number: int, extent: int) -> Self:
        """Returns a piece: `extent` iterations of loop `number`, whose start offset is an argument of the kernel."""


@dataclass(frozen=True, slots=True)
class Split:
    """A loop that is cut.

    Attributes:
      number: index of the loop in Whole.loops.
      loop: the whole loop.
      pieces: number of pieces.
      least: iterations of the smallest pieces.
      more: how many of the first pieces have one iteration more.
      largest: iterations of the largest pieces.
    """

    number: int
    loop: Loop
    pieces: int

    @property
    def least(self) -> int:
        return self.loop.extent // self.pieces

    @property
    def more(self) -> int:
        return self.loop.extent % self.pieces

    @property
    def largest(self) -> int:
        return self.least + bool(self.more)


@dataclass(frozen=True)
class Workgroups:
    """The pieces of a kernel, one for each workgroup.

    Attributes:
      cuts: the loops that are cut, outermost first; pieces of the last one are neighboring workgroups.
      kernel: kernel of the largest pieces.
      smaller: kernel of the pieces with one iteration less; None if all pieces have the same size.
      workgroups: number of workgroups.
    """

    cuts: tuple[Split, ...]
    kernel: Kernel
    smaller: Kernel | None = None

    @property
    def workgroups(self) -> int:
        return math.prod(cut.pieces for cut in self.cuts)


def cut(
    whole: Whole,
    kernel: Kernel,
    harts: int,
    write: Callable[[Any], Kernel],
    best: Callable[[Sequence[Kernel]], Kernel],
) -> Workgroups | None:
    """Returns the pieces whose largest one is the best; None if it is not worth cutting.

    Args:
      whole: the problem.
      kernel: the kernel of the whole problem.
      harts: number of harts; there are at most as many pieces.
      write: writes the kernel of a piece, or raises Unsupported.
      best: chooses between kernels, of which there is at least one.
    """
    most = kernel.executed - _WORKGROUP_COST
    found = []
    for cuts in ways(whole.loops, harts):
        with suppress(Unsupported):
            largest = _piece(whole, cuts, write, [cut.largest for cut in cuts])
            if largest.executed < most:
                found.append((largest, cuts))
    while found:
        chosen = best([largest for largest, _ in found])
        largest, cuts = next(each for each in found if each[0] is chosen)
        with suppress(Unsupported):
            return _with_smaller(whole, cuts, write, largest)
        found.remove((largest, cuts))
    return None


def ways(loops: tuple[Loop, ...], harts: int) -> list[tuple[Split, ...]]:
    """Returns the ways to cut one or two loops, the smallest pieces first."""
    ways = sorted(_all_ways(loops, harts), key=_largest)
    return [way for way in ways if _largest(way) <= _TOO_LARGE * _largest(ways[0])][:_MOST_WRITTEN]


def _all_ways(loops: tuple[Loop, ...], harts: int) -> Iterator[tuple[Split, ...]]:
    long = [(number, loop) for number, loop in enumerate(loops) if loop.extent > 1]
    for number, loop in long:
        yield (Split(number, loop, min(harts, loop.extent)),)
    for (first, outer), (second, inner) in combinations(long, 2):
        for pieces in range(2, min(harts // 2, outer.extent) + 1):
            way = (
                Split(first, outer, pieces),
                Split(second, inner, min(harts // pieces, inner.extent)),
            )
            # At most one of two loops is cut unevenly, so that there are two sizes of pieces and not four.
            if not (way[0].more and way[1].more):
                yield way


def _largest(way: tuple[Split, ...]) -> float:
    """Returns the size of the largest piece as a fraction of the whole."""
    return math.prod(cut.largest / cut.loop.extent for cut in way)


def written(whole: Whole, cuts: tuple[Split, ...], write: Callable[[Any], Kernel]) -> Workgroups:
    """Returns the kernels for the pieces of one way to cut; raises Unsupported if one of them has none."""

    largest = _piece(whole, cuts, write, [cut.largest for cut in cuts])
    return _with_smaller(whole, cuts, write, largest)


def _piece(
    whole: Whole, cuts: tuple[Split, ...], write: Callable[[Any], Kernel], extents: list[int]
) -> Kernel:
    """Returns the kernel of a piece with so many iterations of each loop that is cut."""
    part = whole
    for cut, extent in zip(cuts, extents, strict=True):
        part = part.cut(cut.number, extent)
    return write(part)


def _with_smaller(
    whole: Whole, cuts: tuple[Split, ...], write: Callable[[Any], Kernel], largest: Kernel
) -> Workgroups:
    """Returns the largest pieces with those that have one iteration less, if there are any."""
    if not any(cut.more for cut in cuts):
        return Workgroups(cuts, largest)
    return Workgroups(cuts, largest, _piece(whole, cuts, write, [cut.least for cut in cuts]))
