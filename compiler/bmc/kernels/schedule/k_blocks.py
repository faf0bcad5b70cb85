"""Cuts the summed loops into K blocks if a whole panel of `b` is too large to widen.

For a group of rows, `b` is widened one K block at a time (widen.py), and the accumulators are spilled between K blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bmc.kernels.problem.product import B, Loop, Product
from bmc.kernels.unsupported import Unsupported

# Bytes at most of the spilled accumulators of a group of rows in one panel.
_MOST_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class KBlocks:
    """A product in K blocks.

    Attributes:
      product: the product with the summed loops of one K block, and with row loops that are cut into groups.
      loop: the loop over K blocks.
      group: how many of the innermost row loops make a group.
    """

    product: Product
    loop: Loop
    group: int


def k_blocked(product: Product, lanes: int) -> Iterator[KBlocks]:
    """Yields the product in 2, 3, ... K blocks, for panels of at most `lanes` lanes.

    Raises:
      Unsupported: the product has masks, an initial value for each row, or no row loops that can be grouped.
    """
    if product.padding is not None and product.padding.operand == B:
        raise Unsupported("K blocks of a padded image")
    if product.initial is not None and not product.lanes.strides[product.initial]:
        raise Unsupported("K blocks of accumulators with an initial value for each row")
    if not product.rows:
        raise Unsupported("K blocks of one row")
    rows, group = _grouped(product.rows, 8 * _MOST_BYTES // (product.scheme.bits * lanes))
    # The longest summed loop is cut, but not one over taps that may be outside the image.
    number, longest = max(
        ((n, loop) for n, loop in enumerate(product.summed) if not any(loop.steps)),
        key=lambda each: each[1].extent,
        default=(0, Loop(1, ())),
    )
    for count in _divisors(longest.extent)[1:]:
        outer, inner = _cut(longest, longest.extent // count)
        summed = (*product.summed[:number], inner, *product.summed[number + 1 :])
        yield KBlocks(replace(product, rows=rows, summed=summed), outer, group)


def _grouped(rows: tuple[Loop, ...], most: int) -> tuple[tuple[Loop, ...], int]:
    """Cuts row loops into groups of at most `most` rows.

    Returns:
      the loops, and how many of the innermost ones make a group.
    """
    for number in reversed(range(len(rows))):
        loop = rows[number]
        extent = max(each for each in _divisors(loop.extent) if each <= most)
        if extent < loop.extent:
            if loop is rows[-1] and any(loop.steps):
                raise Unsupported("a long line of a padded image")
            return (*rows[:number], *_cut(loop, extent), *rows[number + 1 :]), len(rows) - number
        most //= extent
    return rows, len(rows)


def _cut(loop: Loop, extent: int) -> tuple[Loop, Loop]:
    """Splits a loop into an outer one over pieces and an inner one with `extent` iterations."""
    outer = Loop(
        loop.extent // extent,
        tuple(extent * stride for stride in loop.strides),
        tuple(extent * step for step in loop.steps),
    )
    return outer, replace(loop, extent=extent)


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]
