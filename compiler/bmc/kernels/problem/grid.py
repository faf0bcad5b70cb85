"""Lanes that are made of several loops, where an operand has its elements anywhere.

A product with few rows and columns, as those of a small attention, has too few of either for lanes. All its results
together are enough. The distances of their elements in an operand are a vector then (schedule/gather.py).
"""

from __future__ import annotations

import math

from bmc.kernels.problem.product import RESULT, Loop, Unsupported

# Lanes have numbers of so many bits when they are divided.
BITS = 32


def factors(grid: tuple[Loop, ...], operand: int) -> tuple[int, ...]:
    """Returns what each loop contributes to the distance of a lane.

    That is the sum of these factors times how many runs of the loops inside are complete before a lane. They are zero
    but for the last one where lanes are as one loop.
    """
    inside = [*(loop.extent * loop.strides[operand] for loop in grid[1:]), 0]
    return tuple(loop.strides[operand] - run for loop, run in zip(grid, inside, strict=True))


def as_one(grid: tuple[Loop, ...]) -> Loop:
    """Returns the loop over all lanes, with strides of 0 for operands whose elements have places."""
    count = math.prod(loop.extent for loop in grid)
    if count * count >= 2**BITS:
        raise Unsupported("so many lanes")
    innermost = grid[-1].strides
    strides = [0 if any(factors(grid, n)[:-1]) else step for n, step in enumerate(innermost)]
    return Loop(count, tuple(strides))


def gathered(dtypes: tuple[str, ...], grid: tuple[Loop, ...]) -> set[int]:
    """Returns the operands whose elements are anywhere for neighboring lanes, if these are all of a grid."""
    operands = range(RESULT, len(dtypes)) if grid else ()
    return {n for n in operands if any(factors(grid, n)[:-1])}
