"""Lanes of several loops: a grid that is vectorized as one loop, for which operands may have to be gathered.

A product with few rows and columns, as in a small attention, has too few of either for vectors. All its results
together are enough. Operands in which they are not evenly spaced are gathered (schedule/gather.py).
"""

from __future__ import annotations

import math

from bmc.kernels.problem.product import RESULT, Loop
from bmc.kernels.unsupported import Unsupported

# Bits of a lane's index, which gather.py divides.
BITS = 32


def factors(grid: tuple[Loop, ...], operand: int) -> tuple[int, ...]:
    """Returns a factor in bytes for each loop of the grid, to compute the offset of a lane in an operand.

    The offset is the sum over loops of the factor times the lane's index divided by the extent of all loops inside. All
    factors but the last are 0 if the lanes are evenly spaced.
    """
    inner_strides = [*(loop.extent * loop.strides[operand] for loop in grid[1:]), 0]
    return tuple(
        loop.strides[operand] - inner for loop, inner in zip(grid, inner_strides, strict=True)
    )


def as_one(grid: tuple[Loop, ...]) -> Loop:
    """Returns the grid as one loop, with strides of 0 for operands that are gathered."""
    count = math.prod(loop.extent for loop in grid)
    if count * count >= 2**BITS:
        raise Unsupported("too many lanes")
    innermost = grid[-1].strides
    strides = [0 if any(factors(grid, n)[:-1]) else step for n, step in enumerate(innermost)]
    return Loop(count, tuple(strides))


def gathered(dtypes: tuple[str, ...], grid: tuple[Loop, ...]) -> set[int]:
    """Returns the numbers of the operands that are gathered; none without a grid."""
    operands = range(RESULT, len(dtypes)) if grid else ()
    return {n for n in operands if any(factors(grid, n)[:-1])}
