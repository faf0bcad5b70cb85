"""The problem of a reduction: means, poolings, and products with few columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmc.kernels.problem.grid import gathered
from bmc.kernels.problem.product import Loop, Node, halves


@dataclass(frozen=True)
class Reduction:
    """result[outer, lane] = epilogue(sum over k of step(operands[outer, lane, k])), or lanes are summed as well.

    Attributes:
      dtypes: element type of each operand; the first two are unused.
      outer: loops over results, around the lanes.
      lanes: the vectorized loop.
      summed: the other summed loops.
      across: whether lanes are summed; otherwise they are results.
      step: the nodes of one step. The first node is the sum, the last one the new sum.
      epilogue: the nodes computed from a complete sum; the last one is stored.
      grid: if lanes are all results together, the loops that they are made of, outermost first.
      lanes_move: whether the first lane of the grid is a start offset.
    """

    dtypes: tuple[str, ...]
    outer: tuple[Loop, ...]
    lanes: Loop
    summed: tuple[Loop, ...]
    across: bool
    step: tuple[Node, ...]
    epilogue: tuple[Node, ...]
    grid: tuple[Loop, ...] = ()
    lanes_move: bool = False

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops over results. Each may be cut."""
        return self.outer if self.across else (*self.outer, self.lanes)

    def cut(self, number: int, extent: int) -> Reduction:
        """Returns a piece: `extent` iterations of loop `number`. Lanes of a grid begin at a start offset."""
        loop = replace(self.loops[number], extent=extent)
        if number == len(self.outer):
            return replace(self, lanes=loop, lanes_move=bool(self.grid))
        return replace(self, outer=(*self.outer[:number], loop, *self.outer[number + 1 :]))

    @property
    def gathered(self) -> list[int]:
        """The numbers of the operands whose lanes are gathered."""
        return sorted(gathered(self.dtypes, self.grid))

    @property
    def halves(self) -> frozenset[str]:
        """The float types of 16 bits that the kernel needs instructions for."""
        return halves(self.dtypes, self.step, self.epilogue)
