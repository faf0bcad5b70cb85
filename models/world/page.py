"""docs/world.md: one row per model of the list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HEAD = """# Models that others published

This page is generated. The [list](../models/world/list.bzl) has {models} models of {packages} packages, as their authors
published them. Each was imported with its framework's answers, compiled for `rv64gcv_zvl256b`, linked with the self-check
and run on Spike. *Error* is the largest difference from the framework's outputs there. Instructions, multiply-accumulates
(MACs) and arena are those of one inference; a model with several entry points or with state has one row.

{right} models are right, {refused} are refused, {fails} fail, and {rest} have not been measured.

`tools/bazel run //models/world:measure` measures the rest and writes this page; names behind `--` measure those again.

| Model | Package | Instructions | MACs | Per MAC | Arena, bytes | Weights, bytes | Error | Measured |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
"""
_OTHERS = """
## What does not run

| Model | Package | Why | Tried |
| --- | --- | --- | --- |
"""


def text(table: Mapping[str, Any], measured: Mapping[str, Any]) -> str:
    """Returns the page.

    Args:
      table: name -> what the list has, in the list's order.
      measured: name -> what measure.py found, of any number of the models.
    """
    found = {name: measured[name] for name in table if name in measured}
    right = {name: row for name, row in found.items() if "instructions" in row}
    head = _HEAD.format(
        models=len(table),
        packages=len({row["package"] for row in table.values()}),
        right=len(right),
        refused=sum("refused" in row for row in found.values()),
        fails=sum("fails" in row for row in found.values()),
        rest=len(table) - len(found),
    )
    rows = [_right(name, table[name]["package"], row) for name, row in right.items()]
    others = [
        f"| `{name}` | {table[name]['package']} | {_sentence(found.get(name, {}))} |"
        for name in table
        if name not in right
    ]
    parts = [head, *(row + "\n" for row in rows)]
    return "".join(parts + [_OTHERS] * bool(others) + [row + "\n" for row in others])


def _right(name: str, package: str, row: Mapping[str, Any]) -> str:
    macs, instructions = row["macs"], row["instructions"]
    cells = [
        f"`{name}`",
        package,
        f"{instructions:,}",
        f"{macs:,}",
        f"{instructions / macs:.2f}" if macs else "-",
        f"{row['arena_bytes']:,}",
        f"{row['weights_bytes']:,}",
        f"{row['max_abs']:.1e}" if row["max_abs"] else "0",
        row["date"],
    ]
    return f"| {' | '.join(cells)} |"


def _sentence(row: Mapping[str, Any]) -> str:
    if not row:
        return "not measured | "
    kind = "refused" if "refused" in row else "fails"
    return f"{kind}: {row[kind]} | {row['date']}".replace("||", "\\|\\|")
