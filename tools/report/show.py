"""Prints what an image takes: flash, RAM, and the instructions (and cycles) of every kernel.

example:
  tools/bazel run //models:mlp_rv64.report
"""

# Not a command of size.py: the build runs that for every image, where the packages that this needs would be inputs.

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bmc.report import Model
from tools import cli, console
from tools.report import harts_table, libraries
from tools.report.files import load
from tools.report.report import Image, Inference, Run
from tools.report.rows import Row, as_run
from tools.report.table import pairs, table

TOP = 20


def _dispatches(model: Model, measured: Inference) -> Table:
    """Returns what each kernel took in each layer, what took most first: in cycles if the run has them.

    Beside cycles are those that a kernel was modeled to take, if any kernel was.
    """
    has_cycles = measured.cycles is not None
    has_model = has_cycles and any(row.modeled_cycles for row in as_run(model, measured))
    unit = "cycles" if has_cycles else "instructions"
    cost: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    first: dict[tuple[str, str], Row] = {}
    for row in as_run(model, measured):
        place = row.command.layer, row.kernel
        first.setdefault(place, row)
        ran = row.ran
        cost[place].update(instructions=ran.instructions, cycles=ran.cycles or 0, times=ran.times)
        cost[place].update(modeled=row.modeled_cycles or 0)
    ordered = sorted(cost.items(), key=lambda item: -item[1][unit])
    total = sum(spent[unit] for spent in cost.values()) or 1

    def numbers(spent: Counter[str]) -> list[str]:
        cells = [f"{spent['instructions']:,}"]
        if has_cycles:
            each = spent["cycles"] / max(spent["instructions"], 1)
            cells += [f"{spent['cycles']:,}", f"{each:.2f}"]
        if has_model:
            cells.append(f"{spent['modeled']:,}" if spent["modeled"] else "")
        return [*cells, f"{100 * spent[unit] / total:.1f} %"]

    rows = []
    for (layer, kernel), spent in ordered[:TOP]:
        name = f"{kernel}{_mark(model, first[layer, kernel])}"
        rows.append([*numbers(spent), str(spent["times"]), f"{layer}  {name}" if layer else name])
    rest = ordered[TOP:]
    if rest:
        spent = sum((spent for _, spent in rest), Counter())
        rows.append([*numbers(spent), "", f"{len(rest)} more"])
    of_hardware = [*(["cycles", "each"] * has_cycles), *(["modeled"] * has_model)]
    return table(("instructions", *of_hardware, "share", "runs", "layer and kernel"), rows)


def _mark(model: Model, row: Row) -> str:
    """Returns what is special about a kernel: a library computes it, or its code has products of single numbers."""
    if row.call:
        return f"  ({row.call})"
    code = (model.code or {}).get(row.command.function)
    return "  (scalar)" if code and not code.vectorized and code.scalar_products else ""


def _arena_line(model: Model) -> str:
    arena, bound = model.arena.bytes, model.arena.liveness_bound_bytes
    return (
        f"Arena of {model.name} {arena:,}; liveness bound {bound:,}; "
        f"ratio {arena / max(bound, 1):.2f}"
    )


def show(report: Image, out: Console) -> None:
    """Prints the report; sizes in bytes."""
    names = ", ".join(model.name for model in report.models)
    out.print(f"{names} ({report.models[0].isa}) on {report.board}\n")
    for title, sizes in (
        ("Flash", _used(vars(report.flash_bytes))),
        ("RAM", _used(vars(report.ram_bytes))),
        ("Code outside kernels (.text)", report.text_bytes),
    ):
        out.print(title, style="bold")
        out.print(pairs(sizes.items()), "")
    for model in report.models:
        out.print(_arena_line(model))
        if model.int8 and model.int8.note:
            out.print(f"{model.name}: {model.int8.note}")
    for region in report.memory:
        share = 100 * region.used / region.length
        out.print(f"Memory {region.name}: {region.used:,} of {region.length:,} ({share:.1f} %)")
    if report.run:
        for model, measured in report.inferences:
            _show_inference(model, measured, report.run, out)
        if report.run.cycles_of:
            out.print(f"\nCycles are those of {report.run.cycles_of}")
        out.print(f"\nStack high water {report.run.stack_bytes:,}")
    else:
        out.print(
            "\nInstructions and stack are counted in an emulator: leave out --board for those"
        )


def _used(sizes: dict[str, int]) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if size}


def _show_inference(model: Model, measured: Inference, run: Run, out: Console) -> None:
    critical = "instructions, critical path" if measured.harts else "instructions"
    rows = [(critical, measured.instructions)]
    if measured.cycles is not None:
        rows.append(("cycles", measured.cycles))
    walker = measured.walker_instructions_per_dispatch
    if walker is not None:
        rows.append(("outside kernels, per dispatch", walker))
    out.print(f"\n{model.name}: one inference at VLEN {run.boot['vlen']}", style="bold")
    out.print(pairs(rows))
    unit = "instructions" if measured.cycles is None else "cycles"
    out.print(f"\nKernels by {unit} ({len(measured.commands)} commands)", style="bold")
    out.print(_dispatches(model, measured))
    if measured.harts:
        out.print("\nHarts, and where they wait for each other", style="bold")
        out.print(*harts_table.lines(measured.harts), "", sep="\n")
        out.print(harts_table.table(model, measured.harts))
    if measured.plain:
        out.print("\nKernel libraries", style="bold")
        out.print(libraries.table(model, measured))
        out.print(*libraries.summary(measured, run.clocks), sep="\n")


@cli.program("show", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("report", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    show(load(options.report, Image), console.standard_output())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
