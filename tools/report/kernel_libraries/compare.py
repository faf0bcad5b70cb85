"""Prints what kernel libraries compute of a model, beside IREE's kernels.

example:
  tools/bazel run //kernels/packed_simd:resnet8_kernels.kernels
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.table import Table

from bmc.report import Model
from tools import cli, console
from tools.report.files import load
from tools.report.rows import rows
from tools.report.table import table as aligned
from tools.run import judge, result


def table(report: Model, outcome: result.Outcome) -> Table:
    """Returns a row for each dispatch that a library computes.

    Args:
      report: the compiler's report of the model with its libraries.
      outcome: a run of kernel_check firmware; may raise result.RecordError.
    """
    records = outcome.records("KERNEL")
    counts = all(record.number("plain") for record in records)
    unit = "instructions" if counts else "cycles"
    plain_key, library_key = ("plain", "library") if counts else ("plain_cycles", "library_cycles")
    commands = rows(report)
    shown, total = [], [0, 0]
    for record in records:
        row = commands[record.number("index")]
        plain, library = record.number(plain_key), record.number(library_key)
        total = [total[0] + plain, total[1] + library]
        mark = "" if record.field("result") == "ok" else "  (differs)"
        where = f"{row.command.layer}  " if row.command.layer else ""
        error = f"{record.real('max_abs'):.1e}"
        shown.append([*_cells(plain, library), error, f"{where}{row.kernel}  {row.call}{mark}"])
    headings = (f"IREE's {unit}", "library's", "ratio", "max. error")
    return aligned(
        (*headings, "layer, kernel and function"), [*shown, [*_cells(*total), "", "together"]]
    )


def _cells(plain: int, library: int) -> list[str]:
    return [f"{plain:,}", f"{library:,}", f"{plain / library:.2f}" if library else "-"]


@cli.program("compare", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("report", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("run", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    report = load(options.report, Model)
    outcome = judge.load(options.run)
    out = console.standard_output()
    out.print(table(report, outcome))
    verdict = result.judge(outcome)
    out.print(f"\n{verdict.sentence}")
    return 0 if verdict.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
