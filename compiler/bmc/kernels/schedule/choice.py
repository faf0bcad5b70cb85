"""Choices that tuning may make instead of the generator's cost function, and proposals worth measuring."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.unsupported import Unsupported

# The valid values of each choice.
VALUES: dict[str, tuple[int, ...] | tuple[bool, ...]] = {
    "lanes": tuple(range(8)),
    "lmul": (1, 2, 4, 8),
    "rows": tuple(range(1, 15)),
    "reuses": (False, True),
    "widens": (False, True),
    "unroll": tuple(range(1, 65)),
    "spills": (False, True),
    "loads": (1, 2),
}
# The best of _starts() whose number of rows is varied, and the loops that are tried as lanes.
_REFINED = 4
_MOST_LANES = 3
_UNROLLS = (1, 4, 16, 64)
# Kernels that execute this many times the instructions of the default are not worth measuring.
_WORSE = 1.3


@dataclass(frozen=True, slots=True)
class Choice:
    """What is chosen. None leaves it to the cost function.

    Attributes:
      lanes: which of the possible loops is vectorized; 0 is the preferred one.
      lmul: registers of the widest group.
      rows: rows of the largest row block.
      reuses: whether the taps of a window share loads.
      widens: whether `b` is widened to int16 once for all rows.
      unroll: steps in the body of the innermost summed loop.
      spills: whether accumulators are spilled before the epilogue.
      loads: how many loads of `b` have vector groups of their own; one need not wait for the readers of another.
    """

    lanes: int | None = None
    lmul: int | None = None
    rows: int | None = None
    reuses: bool | None = None
    widens: bool | None = None
    unroll: int | None = None
    spills: bool | None = None
    loads: int | None = None

    def described(self) -> dict[str, Any]:
        """Returns the choices that are not None, by name."""
        return {
            name: value for name, value in dataclasses.asdict(self).items() if value is not None
        }

    def require(self, *names: str) -> None:
        """Raises Unsupported if anything but `names` is chosen."""
        for name in self.described():
            if name not in names:
                raise Unsupported(f"no choice of '{name}'")


# Everything is left to the cost function.
DEFAULT = Choice()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A choice, and the estimated instructions that its kernel executes."""

    choice: Choice
    cost: float


def proposals(write: Callable[[Choice], Kernel], most: int) -> tuple[Proposal, ...]:
    """Returns the default choice, then those worth measuring, the lowest estimate first, all with different texts.

    Args:
      write: writes the kernel for a choice, or raises Unsupported.
      most: how many besides the default, at most.
    """
    default = write(DEFAULT)
    by_text: dict[str, Proposal] = {}

    def add_all(choices: Iterable[Choice]) -> None:
        for choice in choices:
            try:
                kernel = write(choice)
            except Unsupported:
                continue
            if kernel.text != default.text:
                by_text.setdefault(kernel.text, Proposal(choice, kernel.executed))

    def best() -> list[Proposal]:
        ranked = sorted(by_text.values(), key=lambda each: each.cost)
        return [each for each in ranked if each.cost <= _WORSE * default.executed]

    add_all(_starts())
    add_all(Choice(unroll=unroll) for unroll in _UNROLLS)
    add_all(Choice(widens=widens) for widens in (False, True))
    for start in [Proposal(DEFAULT, default.executed), *best()[:_REFINED]]:
        add_all(dataclasses.replace(start.choice, rows=rows) for rows in VALUES["rows"])
    return (Proposal(DEFAULT, default.executed), *best()[:most])


def _starts() -> Iterator[Choice]:
    """Yields all combinations of the choices that change the loop nest most."""
    for lanes in (None, *range(1, _MOST_LANES)):
        for lmul in (None, *VALUES["lmul"]):
            for reuses in (None, False, True):
                for spills in (None, False, True):
                    yield Choice(lanes=lanes, lmul=lmul, reuses=reuses, spills=spills)
