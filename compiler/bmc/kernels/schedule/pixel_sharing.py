"""Decides whether the rows of a depthwise product share the pixels that they read: registers, and instructions."""

from __future__ import annotations

import itertools

from bmc.kernels.problem.product import A, Loop, OutOfBounds


def cost(
    inner_rows: Loop,
    taps: Loop,
    block: tuple[int, OutOfBounds],
    load: tuple[float, float],
    free: int,
) -> float:
    """Estimates the instructions of one row of the window for a row block.

    Args:
      inner_rows: the innermost row loop.
      taps: the loop over horizontal taps.
      block: number of rows, and its taps outside the image.
      load: instructions to load a group of `a`, and one of `b`.
      free: groups of registers for weights, 0 if rows do not share loads.
    """
    rows, out_of_bounds = block
    readers_at: dict[int, list[tuple[int, int]]] = {}
    for row, tap in itertools.product(range(rows), range(taps.extent)):
        if (row, tap) not in out_of_bounds:
            offset = row * inner_rows.strides[A] + tap * taps.strides[A]
            readers_at.setdefault(offset, []).append((row, tap))
    readers = [each for _, each in sorted(readers_at.items())]
    products = sum(map(len, readers))
    read = len(readers) if live_weights(readers) <= free else products
    image, weight = load
    return weight * taps.extent + image * read + products


def weight_groups(lmul: int, free: int, widens: bool) -> int:
    """Returns how many groups of weights fit into `free` registers beside a group of pixels."""
    size, other = operands(lmul, widens)
    return max(0, free // size - other)


def operands(lmul: int, widens: bool) -> tuple[int, int]:
    """Returns the registers of an operand's group, and how many groups are not for weights.

    These are one for pixels, and one for an int8 source.
    """
    return (max(1, lmul // 2), 2) if widens else (lmul, 1)


def live_weights(readers_at: list[list[tuple[int, int]]]) -> int:
    """Returns how many weights are live at once if pixels are processed in order.

    Args:
      readers_at: (row, tap) pairs that read each pixel.
    """
    taps = [{tap for _, tap in readers} for readers in readers_at]
    return max(
        (
            len(set().union(*taps[: number + 1]) & set().union(*taps[number:]))
            for number in range(len(taps))
        ),
        default=0,
    )
