"""Cuts what a kernel computes into pieces for several harts, each of which is one workgroup.

One loop over results is cut, or two. Pieces are as large as each other, or one iteration larger: then there are two
kernels. No two of them write the same element, since each element of a result belongs to one iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol, Self

from bmc.kernels.problem.product import Loop, Unsupported
from bmc.kernels.tree.assembly import Kernel

# Instructions that several workgroups take more than one: to find out which one it is, and where it begins.
_AROUND = 80
# Ways to cut that are written, to compare them.
_MOST_WAYS = 6
# A way whose largest piece is so much larger than that of another one is not among them.
_LARGER = 1.5


class Whole(Protocol):
    """What a kernel computes: a product, a reduction, or an elementwise operation."""

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops over results."""

    def cut(self, number: int, extent: int) -> Self:
        """Returns a piece: so many iterations of one of these loops, beginning anywhere."""


@dataclass(frozen=True, slots=True)
class Split:
    """A loop that is cut.

    Attributes:
      number: of the loop.
      loop: as it is in the whole.
      pieces: how many. The first `more` have one iteration more than `least`.
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
      cuts: the loops that are cut, outermost first; the pieces of the last one are neighboring workgroups.
      kernel: of the largest pieces.
      smaller: of those with one iteration less of the loop that is not cut evenly; None if all pieces are the same.
    """

    cuts: tuple[Split, ...]
    kernel: Kernel
    smaller: Kernel | None = None

    @property
    def workgroups(self) -> int:
        return math.prod(cut.pieces for cut in self.cuts)


def cut(
    whole: Whole, kernel: Kernel, harts: int, write: Callable[[Any], Kernel]
) -> Workgroups | None:
    """Returns the pieces of which the largest takes the fewest instructions; None if it is not worth cutting.

    Args:
      whole: what is computed.
      kernel: of the whole.
      harts: how many harts share it: there are no more pieces.
      write: writes the kernel of a piece; raises Unsupported if there is none.
    """
    best: Workgroups | None = None
    least = math.inf
    most = kernel.executed - _AROUND
    for cuts in ways(whole.loops, harts):
        try:
            shares = written(whole, cuts, write)
        except Unsupported:
            continue
        if shares.kernel.executed < min(least, most):
            best, least = shares, shares.kernel.executed
    return best


def ways(loops: tuple[Loop, ...], harts: int) -> list[tuple[Split, ...]]:
    """Returns the ways to cut one loop or two, those with the smallest pieces first."""
    ways = sorted(_all_ways(loops, harts), key=_largest)
    return [way for way in ways if _largest(way) <= _LARGER * _largest(ways[0])][:_MOST_WAYS]


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
            # Otherwise there would be pieces of four sizes.
            if not (way[0].more and way[1].more):
                yield way


def _largest(way: tuple[Split, ...]) -> float:
    """Returns the largest piece as a part of the whole."""
    return math.prod(cut.largest / cut.loop.extent for cut in way)


def written(whole: Whole, cuts: tuple[Split, ...], write: Callable[[Any], Kernel]) -> Workgroups:
    """Returns the pieces of one way to cut; raises Unsupported if one of them has no kernel."""

    def piece(extents: list[int]) -> Kernel:
        part = whole
        for cut, extent in zip(cuts, extents, strict=True):
            part = part.cut(cut.number, extent)
        return write(part)

    largest = piece([cut.largest for cut in cuts])
    if not any(cut.more for cut in cuts):
        return Workgroups(cuts, largest)
    return Workgroups(cuts, largest, piece([cut.least for cut in cuts]))
