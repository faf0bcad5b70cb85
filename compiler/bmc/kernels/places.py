"""Lanes that are made of several loops, where an operand has its elements anywhere.

A product with few rows and columns, as those of a small attention, has too few of either for lanes. All its results
together are enough. The distances of their elements in an operand are a vector then, and loads have indices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from bmc.kernels.assembly import Assembly
from bmc.kernels.lanes import Lanes
from bmc.kernels.product import Loop, Unsupported

# Groups of registers that write() changes besides those with places.
TEMPORARIES = 3
# Lanes have numbers of so many bits when they are divided.
_BITS = 32


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
    if count * count >= 2**_BITS:
        raise Unsupported("so many lanes")
    innermost = grid[-1].strides
    strides = [0 if any(factors(grid, n)[:-1]) else step for n, step in enumerate(innermost)]
    return Loop(count, tuple(strides))


def write(
    out: Assembly, grid: tuple[Loop, ...], places: Mapping[int, int], lanes: Lanes, first: str
) -> None:
    """Emits the places of some lanes, in bytes.

    Args:
      out: receives the text.
      grid: the loops that lanes are made of, outermost first.
      places: the group for each operand. The first groups are free.
      lanes: the lanes.
      first: register with the number of the first one.
    """
    number, runs, product = (f"v{group * lanes.lmul}" for group in range(TEMPORARIES))
    out.emit(f"vid.v {number}")
    out.emit(f"vadd.vx {number}, {number}, {first}")
    written: set[int] = set()
    for depth in range(len(grid)):
        inside = math.prod(loop.extent for loop in grid[depth + 1 :])
        moving = {n: factor for n in places if (factor := factors(grid, n)[depth])}
        if not moving:
            continue
        with out.registers(1) as (value,):
            if inside > 1:
                # Rounded up, the inverse is exact for as many lanes as there are.
                out.set(value, -(-(2**_BITS) // inside))
                out.emit(f"vmulhu.vx {runs}, {number}, {value}")
            for operand, factor in moving.items():
                group = f"v{places[operand] * lanes.lmul}"
                to = product if operand in written else group
                out.set(value, factor)
                out.emit(f"vmul.vx {to}, {runs if inside > 1 else number}, {value}")
                if operand in written:
                    out.emit(f"vadd.vv {group}, {group}, {product}")
                written.add(operand)
