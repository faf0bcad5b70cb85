"""Lanes that are made of several loops, where an operand has its elements anywhere.

A product with few rows and columns, as those of a small attention, has too few of either for lanes. All its results
together are enough. The distances of their elements in an operand are a vector then, and loads have indices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from bmc.kernels.problem.grid import BITS, factors
from bmc.kernels.problem.product import Loop
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.lanes import Lanes

# Groups of registers that write() changes besides those with offsets.
TEMPORARIES = 3


def write(
    out: Assembly, grid: tuple[Loop, ...], offsets: Mapping[int, int], lanes: Lanes, first: str
) -> None:
    """Emits the offsets of some lanes, in bytes.

    Args:
      out: receives the text.
      grid: the loops that lanes are made of, outermost first.
      offsets: the group for each operand. The first groups are free.
      lanes: the lanes.
      first: register with the number of the first one.
    """
    number, runs, product = (f"v{group * lanes.lmul}" for group in range(TEMPORARIES))
    out.emit(rvv.lane_numbers(number))
    out.emit(rvv.binary("vadd", number, number, first))
    written: set[int] = set()
    for depth in range(len(grid)):
        inside = math.prod(loop.extent for loop in grid[depth + 1 :])
        moving = {n: factor for n in offsets if (factor := factors(grid, n)[depth])}
        if not moving:
            continue
        with out.registers(1) as (value,):
            if inside > 1:
                # Rounded up, the inverse is exact for as many lanes as there are.
                out.set(value, -(-(2**BITS) // inside))
                out.emit(rvv.binary("vmulhu", runs, number, value))
            for operand, factor in moving.items():
                group = f"v{offsets[operand] * lanes.lmul}"
                to = product if operand in written else group
                out.set(value, factor)
                out.emit(rvv.binary("vmul", to, runs if inside > 1 else number, value))
                if operand in written:
                    out.emit(rvv.binary("vadd", group, group, product))
                written.add(operand)
