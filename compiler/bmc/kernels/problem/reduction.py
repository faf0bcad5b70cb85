"""A problem that adds up many elements for each result, such as means, poolings and products with few columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmc.kernels.problem.grid import gathered
from bmc.kernels.problem.product import Loop, Node, has_halves


@dataclass(frozen=True)
class Reduction:
    """result[outer, lane] = epilogue(sum over sums of the elements), or lanes are summed as well.

    Attributes:
      dtypes: element type of each operand, by their numbers in the nodes; the first two are nothing.
      outer: loops around everything.
      lanes: the loop that runs in vectors.
      summed: the other loops that are summed.
      across: whether lanes are summed.
      step: what is added to the sums, which are the first node; the last one is the new sums.
      epilogue: the values computed from a sum; the last one is stored.
      grid: where lanes are all results, the loops that they are made of, outermost first.
      lanes_move: whether the first lane is one of the grid's that an argument of the kernel says.
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
        """The loops over results, of which each may be cut."""
        return self.outer if self.across else (*self.outer, self.lanes)

    def cut(self, number: int, extent: int) -> Reduction:
        """Returns a piece: so many iterations of one of the loops, beginning anywhere."""
        loop = replace(self.loops[number], extent=extent)
        if number == len(self.outer):
            return replace(self, lanes=loop, lanes_move=bool(self.grid))
        return replace(self, outer=(*self.outer[:number], loop, *self.outer[number + 1 :]))

    @property
    def gathered(self) -> list[int]:
        """The operands whose elements are anywhere for neighboring lanes."""
        return sorted(gathered(self.dtypes, self.grid))

    @property
    def needs_halves(self) -> bool:
        """Whether its kernel needs instructions for f16."""
        return has_halves(self.dtypes, self.step, self.epilogue)
