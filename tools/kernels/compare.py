"""Prints what kernel libraries compute of a model, beside IREE's kernels.

example:
  tools/bazel run //kernels/packed_simd:resnet8_kernels.kernels
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.table import Table

from tools import console
from tools.emulate import judge, result


def table(report: dict[str, Any], outcome: result.Outcome) -> Table:
    """Returns a row for each dispatch that a library computes.

    Args:
      report: the compiler's report of the model with its libraries.
      outcome: a run of kernel_check firmware; may raise result.RecordError.
    """
    records = outcome.records("KERNEL")
    counts = all(record.number("plain") for record in records)
    unit = "instructions" if counts else "cycles"
    plain_key, library_key = ("plain", "library") if counts else ("plain_cycles", "library_cycles")
    calls = {d["name"]: d["call"] for d in report["dispatches"] if d["call"]}
    shown = Table(box=None, header_style="bold", padding=(0, 0, 0, 2))
    for heading in (f"IREE's {unit}", "library's", "ratio", "max. error"):
        shown.add_column(heading, justify="right")
    shown.add_column("layer, kernel and function", overflow="fold")
    total = [0, 0]
    for record in records:
        command = report["commands"][record.number("index")]
        call = calls[command["function"]]
        plain, library = record.number(plain_key), record.number(library_key)
        total = [total[0] + plain, total[1] + library]
        mark = "" if record.field("result") == "ok" else "  (differs)"
        where = f"{command['layer']}  " if command["layer"] else ""
        named = f"{where}{command['function']}  {call['function']} of {call['library']}{mark}"
        shown.add_row(
            f"{plain:,}",
            f"{library:,}",
            _ratio(plain, library),
            f"{record.real('max_abs'):.1e}",
            named,
        )
    shown.add_row(f"{total[0]:,}", f"{total[1]:,}", _ratio(*total), "", "together")
    return shown


def _ratio(plain: int, library: int) -> str:
    return f"{plain / library:.2f}" if library else "-"


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("report", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("run", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    report = json.loads(options.report.read_text())
    outcome = judge.load(options.run)
    try:
        shown = table(report, outcome)
    except result.RecordError as error:
        console.complain("compare", error)
        return 1
    out = console.standard_output()
    out.print(shown)
    verdict = result.judge(outcome)
    out.print(f"\n{verdict.sentence}")
    return 0 if verdict.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
