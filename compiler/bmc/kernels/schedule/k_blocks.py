"""Cuts sums that are too long for their second operand to wait in memory in 16 bits.

Each chunk of them is extended in its turn (widen.py), for a group of rows whose sums wait in memory between the chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bmc.kernels.problem.product import B, Loop, Product, Unsupported

# Bytes of the sums of a group of rows in a panel, at most.
_MOST_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class KBlocks:
    """A product that is computed in several turns.

    Attributes:
      product: the same with the sums of one turn, and with its rows cut at groups.
      loop: the turns.
      group: how many of the innermost loops of rows are a group.
    """

    product: Product
    loop: Loop
    group: int


def k_blocked(product: Product, lanes: int) -> Iterator[KBlocks]:
    """Yields the product in 2 turns or more, for panels of at most so many lanes.

    Raises:
      Unsupported: it has masks, each row has an initial value of its own, or it has no rows that make groups.
    """
    if product.padding is not None and product.padding.operand == B:
        raise Unsupported("chunks of an image that is padded")
    if product.initial is not None and not product.lanes.strides[product.initial]:
        raise Unsupported("chunks of sums that start from a number for each row")
    if not product.rows:
        raise Unsupported("chunks of one row")
    rows, group = _grouped(product.rows, 8 * _MOST_BYTES // (product.scheme.bits * lanes))
    # Taps that may lie outside of the image are not cut.
    number, longest = max(
        ((n, loop) for n, loop in enumerate(product.summed) if not any(loop.steps)),
        key=lambda each: each[1].extent,
        default=(0, Loop(1, ())),
    )
    for turns in _divisors(longest.extent)[1:]:
        outer, inner = _cut(longest, longest.extent // turns)
        sums = (*product.summed[:number], inner, *product.summed[number + 1 :])
        yield KBlocks(replace(product, rows=rows, summed=sums), outer, group)


def _grouped(rows: tuple[Loop, ...], most: int) -> tuple[tuple[Loop, ...], int]:
    """Cuts the rows into groups of at most so many; returns their loops, and how many of these are in a group."""
    for number in reversed(range(len(rows))):
        loop = rows[number]
        extent = max(each for each in _divisors(loop.extent) if each <= most)
        if extent < loop.extent:
            if loop is rows[-1] and any(loop.steps):
                raise Unsupported("a long line of an image that is padded")
            return (*rows[:number], *_cut(loop, extent), *rows[number + 1 :]), len(rows) - number
        most //= extent
    return rows, len(rows)


def _cut(loop: Loop, extent: int) -> tuple[Loop, Loop]:
    """Returns a loop as one over pieces of that extent, and one over a piece."""
    outer = Loop(
        loop.extent // extent,
        tuple(extent * stride for stride in loop.strides),
        tuple(extent * step for step in loop.steps),
    )
    return outer, replace(loop, extent=extent)


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]
