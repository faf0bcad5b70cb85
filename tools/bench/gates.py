"""What `bench --gates` prints: instructions and cycles of every dispatch on CPU designs in gates."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from rich.table import Table

from tools.bench import page


def lines(report: dict[str, Any], in_flash: dict[str, Any]) -> list[str | Table]:
    """Returns what is shown of an image: where its cycles go, what takes most of them first.

    Args:
      report: of the image, measured with a ROM as fast as the RAM.
      in_flash: the same, with a ROM that is flash.
    """
    shown: list[str | Table] = []
    runs = zip(report["models"], report["run"]["models"], in_flash["run"]["models"], strict=True)
    for model, fast, slow in runs:
        each = fast["cycles"] / max(fast["instructions"], 1)
        shown += [
            f"{model['name']} on {report['board']}: {fast['instructions']:,} instructions, {fast['cycles']:,} cycles, "
            f"{each:.2f} for each instruction; {slow['cycles']:,} with the ROM in flash",
            _table(model, fast, slow),
            "",
        ]
    return [*shown, f"in flash: cycles of {in_flash['run']['cycles_of']}"]


def _table(model: dict[str, Any], fast: dict[str, Any], slow: dict[str, Any]) -> Table:
    dispatches = {dispatch["name"]: dispatch for dispatch in model["dispatches"]}
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for kind, run in (("fast", fast), ("slow", slow)):
        for row in run["commands"]:
            command = model["commands"][row["index"]]
            dispatch = dispatches.get(command["function"])
            spent = found[dispatch["op"] if dispatch else command["kind"], command["layer"]]
            spent[kind] += row["cycles"]
            if kind == "fast":
                spent["instructions"] += row["instructions"]
                spent["macs"] += row["times"] * dispatch["macs"] if dispatch else 0
    ordered = sorted(found.items(), key=lambda item: -item[1]["fast"])
    headings = ("instructions", "cycles", "each", "in flash", "MACs", "per MAC", "dispatch")
    return page.aligned(headings, [_cells(op, layer, spent) for (op, layer), spent in ordered])


def _cells(op: str, layer: str, spent: Counter[str]) -> tuple[str, ...]:
    macs = spent["macs"]
    return (
        f"{spent['instructions']:,}",
        f"{spent['fast']:,}",
        f"{spent['fast'] / max(spent['instructions'], 1):.2f}",
        f"{spent['slow']:,}",
        f"{macs:,}" if macs else "",
        f"{spent['fast'] / macs:.2f}" if macs else "",
        f"{layer}  {op}" if layer else op,
    )
