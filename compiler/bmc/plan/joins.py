"""Finds the commands that begin a tensor: each writes all of a range of bytes, alone or together with later ones.

A concatenation along the innermost axis is a few kernels, each of which writes some columns of a table. The first one
begins the tensor if the others have written the rest before anything reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmc.facts.operands import Written
from bmc.host.program import HalCommand


def beginnings(
    commands: Sequence[HalCommand], written: Callable[[HalCommand], list[Written | None]]
) -> list[list[bool]]:
    """Returns for each span of each command whether nothing that was in its bytes before is read afterwards.

    Args:
      commands: in the order in which they run.
      written: says what a command writes of each of its spans without reading it, None if that is not known.
    """
    parts = [written(command) for command in commands]

    def begins(position: int, number: int, part: Written | None) -> bool:
        if part is None:
            return False
        return part.is_whole or _is_completed(commands, parts, (position, number), part)

    return [
        [begins(position, number, part) for number, part in enumerate(of_command)]
        for position, of_command in enumerate(parts)
    ]


def _is_completed(
    commands: Sequence[HalCommand],
    parts: list[list[Written | None]],
    start: tuple[int, int],
    part: Written,
) -> bool:
    """Whether the commands from `start` on write all columns of its span before anything else uses the span."""
    span = commands[start[0]].spans[start[1]]
    columns = [(part.first, part.end)]
    for position in range(start[0], len(commands)):
        for number, other in enumerate(commands[position].spans):
            if (position, number) == start or not span.overlaps(other):
                continue
            piece = parts[position][number]
            if (
                other != span
                or piece is None
                or (piece.length, piece.row) != (part.length, part.row)
            ):
                return False
            columns.append((piece.first, piece.end))
        if _cover(columns, part.row):
            return True
    return False


def _cover(columns: list[tuple[int, int]], row: int) -> bool:
    """Whether columns leave no gap in a row."""
    reached = 0
    for first, end in sorted(columns):
        if first > reached:
            return False
        reached = max(reached, end)
    return reached >= row
