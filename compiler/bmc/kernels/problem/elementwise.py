"""A problem without a sum: each element of the results is computed from one element of each operand."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmc.kernels.problem.product import Loop, Node, has_halves


@dataclass(frozen=True)
class Elementwise:
    """result[outer, lane] = value(operands[outer, lane]).

    Attributes:
      dtypes: element type of each operand, by their numbers in the nodes; the first two are nothing.
      outer: loops around the lanes.
      lanes: the loop that runs in vectors.
      nodes: the values; the last one is stored.
    """

    dtypes: tuple[str, ...]
    outer: tuple[Loop, ...]
    lanes: Loop
    nodes: tuple[Node, ...]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """All loops, of which each may be cut."""
        return (*self.outer, self.lanes)

    def cut(self, number: int, extent: int) -> Elementwise:
        """Returns a piece: so many iterations of one of the loops, beginning anywhere."""
        *outer, lanes = (
            replace(loop, extent=extent) if each == number else loop
            for each, loop in enumerate(self.loops)
        )
        return replace(self, outer=tuple(outer), lanes=lanes)

    @property
    def needs_halves(self) -> bool:
        """Whether its kernel needs instructions for f16."""
        return has_halves(self.dtypes, self.nodes)
