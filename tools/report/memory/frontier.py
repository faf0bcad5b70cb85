"""How little RAM a model can do with, and what each step down costs."""

from __future__ import annotations

from collections.abc import Callable

from bmc.budget import TooLittleRam
from bmc.report import Model
from tools.report.memory.points import Frontier, Point

# Each number that is tried is so much of what the model needed before.
_STEP = 0.8


def point(report: Model, instructions: int, asked: int | None) -> Point:
    """Returns what a model takes that was compiled for some RAM, given what Spike counted."""
    cycles = [d.modeled_cycles * d.uses for d in report.dispatches if d.modeled_cycles is not None]
    return Point(
        report.ram_bytes,
        report.arena.bytes,
        instructions,
        sum(cycles),
        len(cycles),
        len(report.dispatches),
        report.flash.kernels_bytes + report.flash.weights_bytes + report.flash.plan_bytes,
        asked,
    )


def find(
    model: str, compiled: Callable[[int | None], Point], say: Callable[[str], None]
) -> Frontier:
    """Compiles a model for less and less RAM, until there is no way that needs less.

    Args:
      model: its C name.
      compiled: compiles it for a number of bytes, None for any, and runs it; raises TooLittleRam.
      say: receives lines about the progress.

    Raises:
      BmcError: the model does not compile.
    """
    say("without a budget")
    points = [compiled(None)]
    wanted = int(points[-1].ram * _STEP)
    while True:
        say(f"{points[-1].ram:,} bytes, {points[-1].instructions:,} instructions; next: {wanted:,}")
        try:
            points.append(compiled(wanted))
        except TooLittleRam as error:
            least = error.sizes[0]
            if least >= points[-1].ram:
                rows = error.rows
                break
            # The numbers that it names can be had.
            wanted = least
        else:
            wanted = int(points[-1].ram * _STEP)
    beaten = [each for each in points if _is_beaten(each, points)]
    return Frontier(model, tuple(each for each in points if each not in beaten), rows)


def _is_beaten(point: Point, points: list[Point]) -> bool:
    """Returns whether another point needs no more RAM and fewer instructions, or less RAM and no more instructions."""
    mine = point.ram, point.instructions
    others = ((each.ram, each.instructions) for each in points)
    return any(ram <= mine[0] and work <= mine[1] and (ram, work) != mine for ram, work in others)
