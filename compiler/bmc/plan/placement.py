"""Places blocks that live for a while in as few bytes as it can find.

First fit depends on the order in which blocks are placed. The search begins with the largest block first. Then it
moves the block that ends highest forward in the order, as long as that needs no more bytes than before.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bmc.plan import tables

# How many orders are tried. Most models reach the smallest possible size after a few.
TRIES = 200


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes [start, end) of a block, alive from time `first` up to but not including `until`."""

    start: int
    end: int
    first: int
    until: int


@dataclass(frozen=True, slots=True)
class Block:
    """`length` bytes, alive from time `first` up to but not including `end`; or only its parts, each at its time."""

    length: int
    first: int
    end: int
    parts: tuple[Part, ...] = ()

    @property
    def alive(self) -> tuple[Part, ...]:
        return self.parts or (Part(0, self.length, self.first, self.end),)


@dataclass(frozen=True)
class Placement:
    """The offset of each block, and the bytes that they need together."""

    offsets: tuple[int, ...]
    size: int


# Where a block cannot begin because of another one: behind one number and before the next, from where that one begins.
_Taken = list[tuple[int, int]]


def place(blocks: Sequence[Block]) -> Placement:
    """Returns aligned places for blocks, apart in memory if they are alive at the same time."""
    lengths = [tables.align(block.length) for block in blocks]
    rivals = [
        {i: taken for i, other in enumerate(blocks) if (taken := _taken(block, other))}
        for block in blocks
    ]
    least = least_size(blocks)
    order = sorted(range(len(blocks)), key=lambda i: (-lengths[i], i))
    best = _first_fit(order, lengths, rivals)
    chance = random.Random(0)  # The same search on every machine.
    for _ in range(TRIES):
        if best.size == least:
            break
        top = max(order, key=lambda i: best.offsets[i] + lengths[i])
        position = order.index(top)
        tried = [i for i in order if i != top]
        tried.insert(chance.randrange(position + 1), top)
        if chance.randrange(2):
            a, b = (chance.randrange(len(order)) for _ in range(2))
            tried[a], tried[b] = tried[b], tried[a]
        found = _first_fit(tried, lengths, rivals)
        if found.size <= best.size:
            best, order = found, tried
    return best


def least_size(blocks: Sequence[Block]) -> int:
    """Returns the most bytes that are alive at one time."""
    changes: dict[int, int] = defaultdict(int)
    for block in blocks:
        for part in block.alive:
            length = part.end - part.start if block.parts else tables.align(block.length)
            changes[part.first] += length
            changes[part.until] -= length
    return max(itertools.accumulate(changes[time] for time in sorted(changes)), default=0)


def _taken(block: Block, other: Block) -> _Taken:
    """Returns where `block` cannot begin because of `other`."""
    return [
        (theirs.start - mine.end, theirs.end - mine.start)
        for mine in block.alive
        for theirs in other.alive
        if mine.first < theirs.until and theirs.first < mine.until
    ]


def _first_fit(order: list[int], lengths: list[int], rivals: list[dict[int, _Taken]]) -> Placement:
    """Places blocks in this order, each as low as it fits."""
    offsets = [-1] * len(order)
    size = 0
    for index in order:
        offset = 0
        taken = sorted(
            (offsets[i] + start, offsets[i] + end)
            for i, places in rivals[index].items()
            if offsets[i] >= 0
            for start, end in places
        )
        for start, end in taken:
            if start < offset < end:
                offset = tables.align(end)
        offsets[index] = offset
        size = max(size, offset + lengths[index])
    return Placement(tuple(offsets), size)
