"""Places blocks that live for a while in as few bytes as it can find.

First fit depends on the order in which blocks are placed. The search begins with the largest block first. Then it
moves the block that ends highest forward in the order, as long as that needs no more bytes than before.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from bmc.plan import tables

# How many orders are tried. Most models reach the smallest possible size after a few.
TRIES = 200


@dataclass(frozen=True, slots=True)
class Block:
    """`length` bytes, alive from time `first` up to but not including `end`."""

    length: int
    first: int
    end: int


@dataclass(frozen=True)
class Placement:
    """The offset of each block, and the bytes that they need together."""

    offsets: tuple[int, ...]
    size: int


def place(blocks: Sequence[Block]) -> Placement:
    """Returns aligned places for blocks, apart in memory if they are alive at the same time."""
    lengths = [tables.align(block.length) for block in blocks]
    rivals = [
        [i for i, other in enumerate(blocks) if other.first < block.end and block.first < other.end]
        for block in blocks
    ]
    least = max(
        (
            sum(b.first <= a.first < b.end and lengths[i] for i, b in enumerate(blocks))
            for a in blocks
        ),
        default=0,
    )
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


def _first_fit(order: list[int], lengths: list[int], rivals: list[list[int]]) -> Placement:
    """Places blocks in this order, each as low as it fits."""
    offsets = [-1] * len(order)
    size = 0
    for index in order:
        offset = 0
        taken = sorted(
            (offsets[i], offsets[i] + lengths[i]) for i in rivals[index] if offsets[i] >= 0
        )
        for start, end in taken:
            if start < offset + lengths[index] and offset < end:
                offset = end
        offsets[index] = offset
        size = max(size, offset + lengths[index])
    return Placement(tuple(offsets), size)
