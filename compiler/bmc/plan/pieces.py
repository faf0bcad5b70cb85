"""Which commands use which bytes of a storage."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from bmc.host.program import HalCommand, Storage


@dataclass(frozen=True, slots=True)
class Use:
    """A command, by its position, uses the bytes [start, end) of a storage."""

    start: int
    end: int
    position: int


def uses(commands: Sequence[HalCommand]) -> dict[Storage, list[Use]]:
    """Returns the uses of each storage, in the order of the commands."""
    found: dict[Storage, list[Use]] = {}
    for position, command in enumerate(commands):
        for span in command.spans:
            use = Use(span.start, span.start + span.length, position)
            found.setdefault(span.storage, []).append(use)
    return found


def cut(used: Sequence[Use]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Returns the pieces of a storage whose bytes the same commands use: start, end, and these commands' positions."""
    cuts = sorted({place for use in used for place in (use.start, use.end)})
    found: list[tuple[int, int, tuple[int, ...]]] = []
    for start, end in itertools.pairwise(cuts):
        users = tuple(use.position for use in used if use.start < end and start < use.end)
        if users:
            found.append((start, end, users))
    return found
