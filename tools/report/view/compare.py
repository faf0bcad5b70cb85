"""Two reports of an image, or of two images: what became larger, smaller, slower or faster."""

from __future__ import annotations

from typing import Any

from tools.report.view import page_data

Json = dict[str, Any]


def differences(before: Json, now: Json) -> list[Json]:
    """Returns tables with a row for everything that differs, what grew most first, of two page's data."""
    tables = [
        _table("Flash, bytes", _sizes(before["flash"]), _sizes(now["flash"])),
        _table("RAM, bytes", _sizes(before["ram"]), _sizes(now["ram"])),
    ]
    old = {model["name"]: model for model in before["models"]}
    for number, model in enumerate(now["models"]):
        # Models that share no name are compared by their order.
        other = old.get(model["name"]) or before["models"][min(number, len(before["models"]) - 1)]
        tables += [
            _table(f"{model['name']}, totals", _totals(other), _totals(model)),
            _table(f"{model['name']}, instructions by layer", _layers(other), _layers(model)),
        ]
    return tables


def _sizes(parts: list[Json]) -> dict[str, int]:
    return {part["name"]: part["bytes"] for part in parts}


def _totals(model: Json) -> dict[str, int]:
    return {
        "instructions": model["instructions"],
        "arena, bytes": model["arena"]["bytes"],
        "liveness bound, bytes": model["arena"]["bound"],
        "commands": len(model["commands"]),
    }


def _layers(model: Json) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in model["layers"]:
        # Commands without a layer are told apart by what they do.
        name = row["op"] if row["layer"] == page_data.NO_LAYER else row["layer"]
        found[name] = found.get(name, 0) + row["instructions"]
    return found


def _table(title: str, before: dict[str, int], now: dict[str, int]) -> Json:
    names = list(dict.fromkeys((*now, *before)))
    rows = [
        {"name": name, "before": before.get(name, 0), "now": now.get(name, 0)}
        for name in names
        if before.get(name, 0) != now.get(name, 0)
    ]
    return {"title": title, "rows": sorted(rows, key=lambda row: row["before"] - row["now"])}
