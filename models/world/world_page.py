"""docs/world.md and docs/tflm.md: one row per model of a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WORLD = """# Models that others published

This page is generated. The [list](../models/world/list.bzl) has {models} models of {packages} packages: published ones,
and exports of classical models. Each is imported with its framework's answers, which IREE must reproduce on the host,
compiled for `rv64gcv_zvl256b`, linked with the self-check and run on Spike. *Error* is the largest difference from the
framework's outputs there; it is "host" for a model that has only been run on the host. Instructions and
multiply-accumulates (MACs) are those of one inference. Arena, state and weights are in bytes. So is the arena that
TensorFlow Lite for Microcontrollers (TFLM) takes, if it runs the model; that holds also what its interpreter knows.

Right on Spike: {right}. Right on the host, and compiled: {host}. Refused: {refused}. Failing: {fails}.
Not tried yet: {rest}.

Of {large} models with more than a million MACs, {slow} take more than 0.15 instructions for each.

`tools/bazel run //models/world:measure` measures the rest and writes this page; names behind `--` measure those again.
"""
TFLM = """# Models of TensorFlow Lite for Microcontrollers

This page is generated. The [list](../models/world/tflm.json) has all {models} `.tflite` files of the repository
`tensorflow/tflite-micro` at commit 90b983c2: examples, models of tests, and layers of SEANet in 16x8 bits. The columns
are those of [world.md](world.md). Inputs are made up, and the answers are LiteRT's; those of ops on sound are TFLM's.

Right on Spike: {right}. Right on the host, and compiled: {host}. Refused: {refused}. Failing: {fails}.
Not tried yet: {rest}.

`tools/bazel run //models/world:measure -- --tflm FOLDER` measures the rest in a checkout and writes this page.
"""
_TABLE = """
| Model | Package | Instructions | MACs | Per MAC | Arena and state | TFLM's arena | Weights | Error | Measured |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
"""
_OTHERS = """
## What does not run

| Model | Package | Why | Tried |
| --- | --- | --- | --- |
"""


_MANY_MACS, _MOST_INSTRUCTIONS = 1_000_000, 0.15


def is_on_host(row: Mapping[str, Any]) -> bool:
    """Whether a model is right on the host and has not been run on Spike."""
    return "macs" in row and "instructions" not in row


def text(begin: str, table: Mapping[str, Any], measured: Mapping[str, Any]) -> str:
    """Returns the page.

    Args:
      begin: WORLD or TFLM.
      table: name -> what the list has, in the list's order.
      measured: name -> what measure.py found, of any number of the models.
    """
    found = {name: measured[name] for name in table if name in measured}
    right = {name: row for name, row in found.items() if "macs" in row}
    on_host = sum(map(is_on_host, right.values()))
    large = [row for row in right.values() if row["macs"] > _MANY_MACS and "instructions" in row]
    head = begin.format(
        large=len(large),
        slow=sum(row["instructions"] > _MOST_INSTRUCTIONS * row["macs"] for row in large),
        models=len(table),
        packages=len({row["package"] for row in table.values()}),
        right=len(right) - on_host,
        host=on_host,
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
    parts = [head, _TABLE, *(row + "\n" for row in rows)]
    return "".join(parts + [_OTHERS] * bool(others) + [row + "\n" for row in others])


def _right(name: str, package: str, row: Mapping[str, Any]) -> str:
    macs, instructions = row["macs"], row.get("instructions")
    cells = [
        f"`{name}`",
        package,
        f"{instructions:,}" if instructions else "-",
        f"{macs:,}",
        f"{instructions / macs:.2f}" if instructions and macs else "-",
        f"{row['arena_bytes'] + row['state_bytes']:,}",
        f"{row['tflm_bytes']:,}" if row.get("tflm_bytes") else "-",
        f"{row['weights_bytes']:,}",
        f"{row['max_abs']:.1e}" if row.get("max_abs") else "0" if instructions else "host",
        row["date"],
    ]
    return f"| {' | '.join(cells)} |"


def _sentence(row: Mapping[str, Any]) -> str:
    if not row:
        return "not tried yet |"
    kind = "refused" if "refused" in row else "fails"
    return f"{kind}: {row[kind].replace('|', chr(92) + '|')} | {row['date']}"
