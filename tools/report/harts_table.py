"""Shows where harts wait for each other."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from bmc.report import Model
from tools.report.harts import efficiency
from tools.report.report import Harts, Stretch
from tools.report.table import table as aligned

# Stretches with the largest losses that are shown.
_TOP = 10


def lines(harts: Harts) -> list[str]:
    """Returns what a report says of all harts together."""
    idle = [1 - work / max(harts.critical, 1) for work in harts.work]
    return [
        f"{harts.count} harts: critical path {harts.critical:,} instructions, of which {harts.barriers:,} in "
        f"{len(harts.stretches)} barriers; efficiency {100 * efficiency(harts):.0f} %",
        "idle: " + ", ".join(f"hart {hart} {100 * part:.0f} %" for hart, part in enumerate(idle)),
    ]


def losses(harts: Harts) -> list[tuple[int, Stretch]]:
    """Returns the stretches with the instructions that all harts together lose there by waiting, the largest first."""
    found = [
        (harts.count * (max(stretch.work) + stretch.barrier) - sum(stretch.work), stretch)
        for stretch in harts.stretches
    ]
    return sorted(found, key=lambda each: -each[0])


def table(model: Model, harts: Harts) -> Table:
    """Returns the stretches in which harts wait most."""
    rows = []
    for lost, stretch in losses(harts)[:_TOP]:
        numbers = (lost, max(stretch.work), min(stretch.work), stretch.barrier)
        rows.append([*(f"{number:,}" for number in numbers), names(model, stretch.commands)])
    return aligned(("waiting", "longest", "shortest", "barrier", "commands"), rows)


def names(model: Model, commands: Iterable[int]) -> str:
    """Returns what commands are called, in short."""
    return ", ".join(model.commands[index].label for index in commands) or "start"
