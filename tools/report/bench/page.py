"""What //tools/report/bench prints: a table for each model and VLEN, and the excess of all by class."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from rich.table import Table

from tools.report.bench.measured import Command, Executed, Model
from tools.report.table import table as aligned

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


def table(model: Model, top: int = _TOP) -> list[str | Table]:
    """Returns what is shown of one model: its most expensive dispatches, fills and copies."""
    arena, least = model.arena_bytes, model.liveness_bound_bytes
    macs = sum(command.macs for command in model.commands)
    per_mac = f", {model.instructions / macs:.3f} per MAC" if macs else ""
    merged = _merged(model.commands)
    rows = [_cells(group) for group in merged[:top]]
    rest = sum(map(_instructions, merged[top:]))
    if rest:
        rows.append((f"{rest:,}", *[""] * (len(_COLUMNS) - 1), f"{len(merged) - top} more"))
    bound = sum(command.bound for command in model.commands)
    return [
        f"{model.name}, VLEN {model.vlen}: {model.instructions:,} instructions{per_mac}; "
        f"{100 * bound / max(model.instructions, 1):.0f} % of the bound",
        f"arena {arena:,} bytes, liveness bound {least:,}: {arena / max(least, 1):.2f}; "
        f"cycles of a {model.core}",
        aligned((*_COLUMNS, "dispatch"), rows, indented=False),
    ]


def ranking(models: Iterable[Model]) -> list[str | Table]:
    """Returns the excess over the bound by class, over all models and VLENs."""
    excess: dict[str, float] = defaultdict(float)
    instructions: Counter[str] = Counter()
    for model in models:
        for command in model.commands:
            excess[command.class_] += command.instructions - command.bound
            instructions[command.class_] += command.instructions
    total = sum(excess.values()) or 1
    rows = [
        (f"{value:,.0f}", f"{100 * value / total:.1f} %", f"{instructions[name]:,}", name)
        for name, value in sorted(excess.items(), key=lambda item: -item[1])
    ]
    headings = ("excess", "share", "instructions", "class")
    return ["excess over the bound by class", aligned(headings, rows, indented=False)]


def _merged(commands: Iterable[Command]) -> list[list[Command]]:
    """Returns the commands of the same kernel and layer together, by instructions."""
    found: dict[tuple[str, str], list[Command]] = defaultdict(list)
    for command in commands:
        found[command.op, command.layer].append(command)
    return sorted(found.values(), key=lambda group: -_instructions(group))


def _instructions(group: Iterable[Command]) -> int:
    return sum(command.instructions for command in group)


def _cells(group: Sequence[Command]) -> tuple[str, ...]:
    instructions, macs = _instructions(group), sum(command.macs for command in group)
    bound = sum(command.bound for command in group)
    known = [command for command in group if isinstance(command, Executed)]

    def executed(name: str) -> str:
        count = sum(getattr(command, name) or 0 for command in known)
        return f"{count:,.0f}" if count else ""

    last = group[-1]
    layer = last.layer or last.source
    return (
        f"{instructions:,}",
        f"{bound:,.0f}",
        f"{100 * bound / max(instructions, 1):.0f} %",
        f"{macs:,}" if macs else "",
        f"{instructions / macs:.3f}" if macs else "",
        executed("work"),
        executed("cycles"),
        executed("spills"),
        executed("scalar_products"),
        f"{layer}  {last.op}" if layer else last.op,
    )
