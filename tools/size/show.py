"""Prints what an image takes: flash, RAM, and the instructions of every kernel.

example:
  tools/bazel run //models:mlp_rv64.report
"""

# Not a command of size.py: the build runs that for every image, where the packages that this needs would be inputs.

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tools import console
from tools.size import harts_table, libraries

TOP = 20
# Options for tables without lines.
_PLAIN: dict[str, Any] = {"box": None, "header_style": "bold", "padding": (0, 0, 0, 2)}


def _sizes(rows: list[tuple[str, int]]) -> Table:
    table = Table(show_header=False, **_PLAIN)
    table.add_column(min_width=28)
    table.add_column(min_width=14, justify="right")
    for name, value in rows:
        table.add_row(name, f"{value:,}")
    return table


def _dispatches(model: dict[str, Any], run: dict[str, Any]) -> Table:
    total = sum(command["instructions"] for command in run["commands"]) or 1
    cost: dict[tuple[str, str], list[int]] = {}
    for measured in run["commands"]:
        command = model["commands"][measured["index"]]
        kernel = command["function"] or command["kind"]
        entry = cost.setdefault((command["layer"], kernel), [0, 0])
        entry[0] += measured["times"]
        entry[1] += measured["instructions"]
    ordered = sorted(cost.items(), key=lambda item: -item[1][1])
    table = Table(**_PLAIN)
    for number in ("instructions", "share", "runs"):
        table.add_column(number, justify="right")
    table.add_column("layer and kernel", overflow="fold")
    calls = {dispatch["name"]: dispatch["call"] for dispatch in model["dispatches"]}
    for (layer, kernel), (times, count) in ordered[:TOP]:
        mark = _mark(model["code"].get(kernel), calls.get(kernel))
        name = f"{layer}  {kernel}{mark}" if layer else f"{kernel}{mark}"
        table.add_row(f"{count:,}", f"{100 * count / total:.1f} %", str(times), name)
    rest = [count for _, (_, count) in ordered[TOP:]]
    if rest:
        share = f"{100 * sum(rest) / total:.1f} %"
        table.add_row(f"{sum(rest):,}", share, "", f"{len(rest)} more")
    return table


def _mark(facts: dict[str, Any] | None, call: dict[str, Any] | None) -> str:
    """Returns what is special about a kernel: a library computes it, or its code has products of single numbers."""
    if call:
        return f"  ({call['function']} of {call['library']})"
    is_scalar = facts and not facts["vectorized"] and facts["scalar_products"]
    return "  (scalar)" if is_scalar else ""


def _arena_line(model: dict[str, Any]) -> str:
    arena = model["arena"]["bytes"]
    bound = model["arena"]["liveness_bound_bytes"]
    return (
        f"Arena of {model['name']} {arena:,}; liveness bound {bound:,}; "
        f"ratio {arena / max(bound, 1):.2f}"
    )


def show(report: dict[str, Any], out: Console) -> None:
    """Prints the report; sizes in bytes."""
    models = report["models"]
    names = ", ".join(model["name"] for model in models)
    out.print(f"{names} ({models[0]['isa']}) on {report['board']}\n")
    for title, rows in (
        ("Flash", [(p, n) for p, n in report["flash_bytes"].items() if n]),
        ("RAM", [(p, n) for p, n in report["ram_bytes"].items() if n]),
        ("Code outside kernels (.text)", list(report["text_bytes"].items())),
    ):
        out.print(title, style="bold")
        out.print(_sizes(rows), "")
    for model in models:
        out.print(_arena_line(model))
    for region in report["memory"]:
        share = 100 * region["used"] / region["length"]
        out.print(
            f"Memory {region['name']}: {region['used']:,} of {region['length']:,} ({share:.1f} %)"
        )
    if "run" in report:
        run = report["run"]
        for model, measured in zip(models, run["models"], strict=True):
            critical = "instructions, critical path" if measured["harts"] else "instructions"
            rows = [(critical, measured["instructions"])]
            walker = measured["walker_instructions_per_dispatch"]
            if walker is not None:
                rows.append(("outside kernels, per dispatch", walker))
            title = f"{model['name']}: one inference at VLEN {run['boot']['vlen']}"
            out.print(f"\n{title}", style="bold")
            out.print(_sizes(rows))
            title = f"Kernels by instructions ({len(measured['commands'])} commands)"
            out.print(f"\n{title}", style="bold")
            out.print(_dispatches(model, measured))
            if measured["harts"]:
                out.print("\nHarts, and where they wait for each other", style="bold")
                out.print(*harts_table.lines(measured["harts"]), "", sep="\n")
                out.print(harts_table.table(model, measured["harts"], _PLAIN))
            if measured["plain"]:
                out.print("\nKernel libraries", style="bold")
                out.print(libraries.table(model, measured, _PLAIN))
                out.print(*libraries.summary(measured, run["clocks"]), sep="\n")
        out.print(f"\nStack high water {run['stack_bytes']:,}")


def main(args: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="show", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("report", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    show(json.loads(options.report.read_text()), console.standard_output())


if __name__ == "__main__":
    main(sys.argv[1:])
