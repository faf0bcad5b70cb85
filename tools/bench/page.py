"""What //tools/bench prints: a table for each model and VLEN, and the excess of all by class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

from rich.table import Table

_COLUMNS = (
    "instructions",
    "bound",
    "of it",
    "MACs",
    "per MAC",
    "work",
    "cycles",
    "spills",
    "scalar",
)
_TOP = 15


def table(model: dict[str, Any], top: int = _TOP) -> list[str | Table]:
    """Returns what is shown of one model: its most expensive dispatches, fills and copies."""
    arena, least = model["arena_bytes"], model["liveness_bound_bytes"]
    macs = sum(command["macs"] for command in model["commands"])
    per_mac = f", {model['instructions'] / macs:.3f} per MAC" if macs else ""
    merged = _merged(model["commands"])
    rows = [_cells(command) for command in merged[:top]]
    rest = sum(command["instructions"] for command in merged[top:])
    if rest:
        rows.append((f"{rest:,}", *[""] * (len(_COLUMNS) - 1), f"{len(merged) - top} more"))
    return [
        f"{model['name']}, VLEN {model['vlen']}: {model['instructions']:,} instructions{per_mac}; "
        f"{_percent(model)} of the bound",
        f"arena {arena:,} bytes, liveness bound {least:,}: {arena / max(least, 1):.2f}; "
        f"cycles of a {model['core']}",
        aligned((*_COLUMNS, "dispatch"), rows),
    ]


def ranking(models: Iterable[dict[str, Any]]) -> list[str | Table]:
    """Returns the excess over the bound by class, over all models and VLENs."""
    excess: dict[str, float] = defaultdict(float)
    instructions: dict[str, int] = defaultdict(int)
    for model in models:
        for command in model["commands"]:
            excess[command["class"]] += command["instructions"] - command["bound"]
            instructions[command["class"]] += command["instructions"]
    total = sum(excess.values()) or 1
    rows = [
        (f"{value:,.0f}", f"{100 * value / total:.1f} %", f"{instructions[name]:,}", name)
        for name, value in sorted(excess.items(), key=lambda item: -item[1])
    ]
    return [
        "excess over the bound by class",
        aligned(("excess", "share", "instructions", "class"), rows),
    ]


def _percent(row: dict[str, Any]) -> str:
    bound = sum(command["bound"] for command in row["commands"])
    return f"{100 * bound / max(row['instructions'], 1):.0f} %"


def _merged(commands: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds up the commands of the same kernel and layer; returns them by instructions."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for command in commands:
        row = found.setdefault((command["op"], command["layer"]), dict.fromkeys(command, 0))
        for name, value in command.items():
            row[name] = (row.get(name) or 0) + value if isinstance(value, int | float) else value
    return sorted(found.values(), key=lambda row: -row["instructions"])


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    instructions, macs = row["instructions"], row["macs"]

    def executed(name: str) -> str:
        return f"{row[name]:,.0f}" if row.get(name) else ""

    layer = row["layer"] or row["source"]
    return (
        f"{instructions:,}",
        f"{row['bound']:,.0f}",
        f"{100 * row['bound'] / max(instructions, 1):.0f} %",
        f"{macs:,}" if macs else "",
        f"{instructions / macs:.3f}" if macs else "",
        executed("work"),
        executed("cycles"),
        executed("spills"),
        executed("scalar_products"),
        f"{layer}  {row['op']}" if layer else row["op"],
    )


def aligned(headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    """Aligns numbers to the right, and what they are about, in the last column, to the left; drops empty columns."""
    used = [any(row[column] for row in rows) for column in range(len(headings))]
    shown = Table(box=None, header_style="bold", padding=(0, 0, 0, 2), pad_edge=False)
    for heading in compress(headings[:-1], used):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column(headings[-1])
    for row in rows:
        shown.add_row(*compress(row, used))
    return shown
