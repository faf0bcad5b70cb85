"""The problem of an elementwise operation: each result is computed from one element of each operand."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmc.kernels.problem.product import Loop, Node, halves


@dataclass(frozen=True)
class Elementwise:
    """result[outer, lane] = nodes(operands[outer, lane]).

    Attributes:
      dtypes: element type of each operand; the first two are unused.
      outer: loops around the lanes.
      lanes: the vectorized loop.
      nodes: the operations; the last one is stored.
    """

    dtypes: tuple[str, ...]
    outer: tuple[Loop, ...]
    lanes: Loop
    nodes: tuple[Node, ...]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """All loops. Each may be cut."""
        return (*self.outer, self.lanes)

    def cut(self, number: int, extent: int) -> Elementwise:
        """Returns a piece: `extent` iterations of loop `number`."""
        *outer, lanes = (
            replace(loop, extent=extent) if each == number else loop
            for each, loop in enumerate(self.loops)
        )
        return replace(self, outer=tuple(outer), lanes=lanes)

    @property
    def halves(self) -> frozenset[str]:
        """The float types of 16 bits that the kernel needs instructions for."""
        return halves(self.dtypes, self.nodes)
