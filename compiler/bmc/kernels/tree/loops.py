"""Loops around a part of a kernel that move the addresses of operands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bmc.kernels.problem.product import Loop
from bmc.kernels.tree.assembly import Assembly


@dataclass(frozen=True)
class Pointers:
    """Integer registers that iterations of loops move.

    Attributes:
      addresses: addresses, each with the number of its operand, whose strides move it.
      positions: image indices, each with the number of its padded edge, along which loops step.
      constants: registers with distances that do not fit an immediate.
    """

    addresses: Iterable[tuple[int, str]]
    positions: Iterable[tuple[int, str]] = ()
    constants: Mapping[int, str] = field(default_factory=dict)

    def move(self, out: Assembly, loop: Loop, iterations: int) -> None:
        """Moves the registers by so many iterations of a loop."""
        for number, register in self.addresses:
            out.add(register, iterations * loop.strides[number], self.constants)
        for number, register in self.positions if loop.steps else ():
            out.add(register, iterations * loop.steps[number], self.constants)


def repeat(
    out: Assembly,
    pointers: Pointers,
    loops: Sequence[Loop],
    body: Callable[[], None],
    unrolled: int = 1,
) -> None:
    """Emits loops around `body`, the first one outermost, and leaves the pointers as they were.

    Args:
      out: receives the instructions.
      pointers: each iteration moves them.
      loops: the loops.
      body: emits the innermost part, and leaves the pointers as they were.
      unrolled: how many iterations of the innermost loop are written one after the other.
    """
    if not loops:
        body()
        return
    first, *rest = loops

    def iterations(count: int) -> None:
        for _ in range(count):
            repeat(out, pointers, rest, body, unrolled)
            pointers.move(out, first, 1)

    copies = 1 if rest else unrolled
    whole, left = divmod(first.extent, copies)
    if whole:
        out.repeat(whole, lambda: iterations(copies))
    iterations(left)
    pointers.move(out, first, -first.extent)
