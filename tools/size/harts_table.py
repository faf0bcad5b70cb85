"""Shows where harts wait for each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.table import Table

from tools.size.harts import efficiency

# Stretches with the largest losses that are shown.
_TOP = 10


def lines(harts: dict[str, Any]) -> list[str]:
    """Returns what a report says of all harts together."""
    idle = [1 - work / max(harts["critical"], 1) for work in harts["work"]]
    return [
        f"{harts['count']} harts: critical path {harts['critical']:,} instructions, of which {harts['barriers']:,} in "
        f"{len(harts['stretches'])} barriers; efficiency {100 * efficiency(harts):.0f} %",
        "idle: " + ", ".join(f"hart {hart} {100 * part:.0f} %" for hart, part in enumerate(idle)),
    ]


def losses(harts: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Returns the stretches with the instructions that all harts together lose there by waiting, the largest first."""
    found = [
        (
            harts["count"] * (max(stretch["work"]) + stretch["barrier"]) - sum(stretch["work"]),
            stretch,
        )
        for stretch in harts["stretches"]
    ]
    return sorted(found, key=lambda each: -each[0])


def table(model: dict[str, Any], harts: dict[str, Any], options: dict[str, Any]) -> Table:
    """Returns the stretches in which harts wait most."""
    made = Table(**options)
    for name in ("waiting", "longest", "shortest", "barrier"):
        made.add_column(name, justify="right")
    made.add_column("commands", overflow="fold")
    for lost, stretch in losses(harts)[:_TOP]:
        longest, shortest = max(stretch["work"]), min(stretch["work"])
        numbers = (lost, longest, shortest, stretch["barrier"])
        made.add_row(*(f"{number:,}" for number in numbers), names(model, stretch["commands"]))
    return made


def names(model: dict[str, Any], commands: Iterable[int]) -> str:
    """Returns what commands are called, in short."""
    rows = [model["commands"][index] for index in commands]
    return ", ".join(row["layer"] or row["function"] or row["kind"] for row in rows) or "start"
