"""What //tools/bench prints: a table for each model and VLEN, and the excess of all by class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

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
_RIGHT = 13


def table(model: dict[str, Any], top: int = _TOP) -> list[str]:
    """Returns the lines about one model: its most expensive dispatches, fills and copies."""
    arena, least = model["arena_bytes"], model["liveness_bound_bytes"]
    macs = sum(command["macs"] for command in model["commands"])
    per_mac = f", {model['instructions'] / macs:.3f} per MAC" if macs else ""
    lines = [
        f"{model['name']}, VLEN {model['vlen']}: {model['instructions']:,} instructions{per_mac}; "
        f"{_percent(model)} of the bound",
        f"arena {arena:,} bytes, liveness bound {least:,}: {arena / max(least, 1):.2f}; "
        f"cycles of a {model['core']}",
        _row((*_COLUMNS, "dispatch")),
    ]
    merged = _merged(model["commands"])
    lines += [_row(_cells(command)) for command in merged[:top]]
    rest = sum(command["instructions"] for command in merged[top:])
    if rest:
        lines.append(_row((f"{rest:,}", *[""] * (len(_COLUMNS) - 1), f"{len(merged) - top} more")))
    return lines


def ranking(models: Iterable[dict[str, Any]]) -> list[str]:
    """Returns the excess over the bound by class, over all models and VLENs."""
    excess: dict[str, float] = defaultdict(float)
    instructions: dict[str, int] = defaultdict(int)
    for model in models:
        for command in model["commands"]:
            excess[command["class"]] += command["instructions"] - command["bound"]
            instructions[command["class"]] += command["instructions"]
    total = sum(excess.values()) or 1
    lines = ["excess over the bound by class", _row(("excess", "share", "instructions", "class"))]
    for name, value in sorted(excess.items(), key=lambda item: -item[1]):
        cells = (f"{value:,.0f}", f"{100 * value / total:.1f} %", f"{instructions[name]:,}", name)
        lines.append(_row(cells))
    return lines


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


def _row(cells: tuple[str, ...]) -> str:
    return "".join(cell.rjust(_RIGHT) for cell in cells[:-1]) + "  " + cells[-1]
