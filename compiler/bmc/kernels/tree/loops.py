"""Loops around a part of a kernel that move the addresses of operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bmc.kernels.problem.product import Loop
from bmc.kernels.tree.assembly import Assembly


def move(out: Assembly, addresses: Mapping[int, str], loop: Loop, iterations: int) -> None:
    """Moves addresses, registers by their operands' numbers, by so many iterations of a loop."""
    for number, address in addresses.items():
        out.add(address, iterations * loop.strides[number])


def repeat(
    out: Assembly,
    addresses: Mapping[int, str],
    loops: Sequence[Loop],
    body: Callable[[], None],
    unrolled: int = 1,
) -> None:
    """Emits loops around `body`, the first one outermost, and leaves the addresses as they were.

    Args:
      out: receives the instructions.
      addresses: registers by their operands' numbers.
      loops: each iteration moves the addresses.
      body: emits the innermost part, and leaves the addresses as they were.
      unrolled: an innermost loop of at most so many iterations is written out.
    """
    if not loops:
        body()
        return
    first, *rest = loops

    def iteration() -> None:
        repeat(out, addresses, rest, body, unrolled)
        move(out, addresses, first, 1)

    if first.extent <= unrolled and not rest:
        for _ in range(first.extent):
            iteration()
    else:
        out.repeat(first.extent, iteration)
    move(out, addresses, first, -first.extent)
