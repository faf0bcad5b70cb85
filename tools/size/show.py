"""Prints what an image takes: flash, RAM, and the instructions (and cycles) of every kernel.

example:
  tools/bazel run //models:mlp_rv64.report
"""

# Not a command of size.py: the build runs that for every image, where the packages that this needs would be inputs.

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
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
    """Returns what each kernel took in each layer, what took most first: in cycles if the run has them."""
    unit = "instructions" if run["cycles"] is None else "cycles"
    cost: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for measured in run["commands"]:
        command = model["commands"][measured["index"]]
        kernel = command["function"] or command["kind"]
        cost[command["layer"], kernel].update(measured)
    ordered = sorted(cost.items(), key=lambda item: -item[1][unit])
    total = sum(spent[unit] for spent in cost.values()) or 1

    def numbers(spent: Counter[str]) -> list[str]:
        cells = [f"{spent['instructions']:,}"]
        if run["cycles"] is not None:
            each = spent["cycles"] / max(spent["instructions"], 1)
            cells += [f"{spent['cycles']:,}", f"{each:.2f}"]
        return [*cells, f"{100 * spent[unit] / total:.1f} %"]

    table = Table(**_PLAIN)
    of_hardware = [] if run["cycles"] is None else ["cycles", "each"]
    for number in ("instructions", *of_hardware, "share", "runs"):
        table.add_column(number, justify="right")
    table.add_column("layer and kernel", overflow="fold")
    calls = {dispatch["name"]: dispatch["call"] for dispatch in model["dispatches"]}
    for (layer, kernel), spent in ordered[:TOP]:
        mark = _mark(model["code"].get(kernel), calls.get(kernel))
        name = f"{layer}  {kernel}{mark}" if layer else f"{kernel}{mark}"
        table.add_row(*numbers(spent), str(spent["times"]), name)
    rest = ordered[TOP:]
    if rest:
        spent = sum((spent for _, spent in rest), Counter())
        table.add_row(*numbers(spent), "", f"{len(rest)} more")
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
        if model["int8"] and model["int8"]["note"]:
            out.print(f"{model['name']}: {model['int8']['note']}")
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
            if measured["cycles"] is not None:
                rows.append(("cycles", measured["cycles"]))
            walker = measured["walker_instructions_per_dispatch"]
            if walker is not None:
                rows.append(("outside kernels, per dispatch", walker))
            title = f"{model['name']}: one inference at VLEN {run['boot']['vlen']}"
            out.print(f"\n{title}", style="bold")
            out.print(_sizes(rows))
            unit = "instructions" if measured["cycles"] is None else "cycles"
            title = f"Kernels by {unit} ({len(measured['commands'])} commands)"
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
        if run["cycles_of"]:
            out.print(f"\nCycles are those of {run['cycles_of']}")
        out.print(f"\nStack high water {run['stack_bytes']:,}")
    else:
        out.print(
            "\nInstructions and stack are counted in an emulator: leave out --board for those"
        )


def main(args: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="show", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("report", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    show(json.loads(options.report.read_text()), console.standard_output())


if __name__ == "__main__":
    main(sys.argv[1:])
