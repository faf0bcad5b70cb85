"""Computes the byte offsets of gathered lanes: lanes of several loops, which problem/grid.py makes one loop of."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bmc.kernels.problem.grid import BITS, factors
from bmc.kernels.problem.product import Loop
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.vectors import Lanes

# Groups of registers that write() uses as temporaries.
TEMPORARIES = 3


def write(
    out: Assembly, grid: tuple[Loop, ...], offsets: Mapping[int, str], lanes: Lanes, first: str
) -> None:
    """Emits the byte offsets of lanes.

    Args:
      out: receives the instructions.
      grid: the loops that make up the lanes, outermost first.
      offsets: group for the offsets in each gathered operand. TEMPORARIES groups must be free.
      lanes: shape of the groups.
      first: register with the index of the first lane.
    """
    groups = [out.vectors.take(lanes.lmul, lowest=True) for _ in range(TEMPORARIES)]
    lane, iteration, product = groups
    out.emit(rvv.lane_numbers(lane))
    out.emit(rvv.binary("vadd", lane, lane, first))
    initialized: set[int] = set()
    for depth in range(len(grid)):
        inside = math.prod(loop.extent for loop in grid[depth + 1 :])
        moving = {n: factor for n in offsets if (factor := factors(grid, n)[depth])}
        if not moving:
            continue
        with out.registers(1) as (value,):
            if inside > 1:
                # Division by multiplication with the inverse, rounded up, is exact for the lanes that as_one() allows.
                out.set(value, -(-(2**BITS) // inside))
                out.emit(rvv.binary("vmulhu", iteration, lane, value))
            for operand, factor in moving.items():
                group = offsets[operand]
                to = product if operand in initialized else group
                out.set(value, factor)
                out.emit(rvv.binary("vmul", to, iteration if inside > 1 else lane, value))
                if operand in initialized:
                    out.emit(rvv.binary("vadd", group, group, product))
                initialized.add(operand)
    out.vectors.give(*groups)
