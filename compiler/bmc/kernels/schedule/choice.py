"""What may be chosen about a kernel of bmc's own instead of by its cost function, and what is worth trying."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bmc.kernels.problem.product import Unsupported
from bmc.kernels.tree.assembly import Kernel

# The values of each choice.
VALUES: dict[str, tuple[int, ...] | tuple[bool, ...]] = {
    "lanes": tuple(range(8)),
    "lmul": (1, 2, 4, 8),
    "rows": tuple(range(1, 15)),
    "reuses": (False, True),
    "widens": (False, True),
    "unroll": tuple(range(1, 65)),
    "spills": (False, True),
}
# How many starts are refined, and loops that are tried as lanes.
_REFINED = 4
_MOST_LANES = 3
_UNROLLS = (1, 4, 16, 64)
# Kernels that would take so much longer than the fastest, if the cost function is right, are not worth trying.
_WORSE = 1.3


@dataclass(frozen=True, slots=True)
class Choice:
    """None leaves a choice to the cost function.

    Attributes:
      lanes: which of the loops that could run in vectors does, from 0, the one that is preferred.
      lmul: registers of the widest group.
      rows: rows of a block, at most.
      reuses: whether the taps of a window share loads.
      widens: whether the second operand waits in 16 bits for all rows.
      unroll: steps of the innermost sum in one turn of its loop.
      spills: whether sums wait in memory for the operations behind them.
    """

    lanes: int | None = None
    lmul: int | None = None
    rows: int | None = None
    reuses: bool | None = None
    widens: bool | None = None
    unroll: int | None = None
    spills: bool | None = None

    def described(self) -> dict[str, Any]:
        """Returns what is chosen, by name."""
        return {
            name: value for name, value in dataclasses.asdict(self).items() if value is not None
        }

    def require(self, *names: str) -> None:
        """Raises Unsupported if anything else is chosen."""
        for name in self.described():
            if name not in names:
                raise Unsupported(f"no choice of '{name}'")


# Everything is left to the cost function.
DEFAULT = Choice()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A choice, and about how many instructions its kernel executes."""

    choice: Choice
    cost: float


def proposals(write: Callable[[Choice], Kernel], most: int) -> tuple[Proposal, ...]:
    """Returns the default, and kernels that are worth trying beside it, those with the lowest cost first.

    Args:
      write: writes the kernel for a choice; raises Unsupported if there is none.
      most: how many beside the default, at most. No two of them have the same text.
    """
    default = write(DEFAULT)
    found: dict[str, Proposal] = {}

    def add(choices: Iterable[Choice]) -> None:
        for choice in choices:
            try:
                kernel = write(choice)
            except Unsupported:
                continue
            if kernel.text != default.text:
                found.setdefault(kernel.text, Proposal(choice, kernel.executed))

    def best() -> list[Proposal]:
        ranked = sorted(found.values(), key=lambda each: each.cost)
        return [each for each in ranked if each.cost <= _WORSE * default.executed]

    add(_starts())
    add(Choice(unroll=unroll) for unroll in _UNROLLS)
    add(Choice(widens=widens) for widens in (False, True))
    for start in [Proposal(DEFAULT, default.executed), *best()[:_REFINED]]:
        add(dataclasses.replace(start.choice, rows=rows) for rows in VALUES["rows"])
    return (Proposal(DEFAULT, default.executed), *best()[:most])


def _starts() -> Iterator[Choice]:
    for lanes in (None, *range(1, _MOST_LANES)):
        for lmul in (None, *VALUES["lmul"]):
            for reuses in (None, False, True):
                for spills in (None, False, True):
                    yield Choice(lanes=lanes, lmul=lmul, reuses=reuses, spills=spills)
