"""Prints what models took on CPU designs in gates, beside QEMU and Spike.

example:
  tools/bazel run //models:gates
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools import cli
from tools.run import judge, result

_HEADER = (
    "| Model | ISA | Where | Hash | Instructions | Cycles | Cycles per instruction |",
    "| --- | --- | --- | --- | ---: | ---: | ---: |",
)
# Their cycles are no hardware's.
_EMULATORS = ("qemu", "spike")


def row(model: str, isa: str, where: str, outcome: result.Outcome) -> str:
    """Returns the line of a run of one model, of its first case; the hash is of all its cases.

    Raises RecordError if the run printed no such numbers.
    """
    ((_, records),) = outcome.models().items()
    of_kind = {record.kind: record for record in records}
    if not {"HASH", "STATS"} <= set(of_kind):
        raise result.RecordError(f"{model} on {where}: no HASH or STATS record")
    instructions = of_kind["STATS"].number("instret")
    cycles, ratio = "", ""
    if not where.startswith(_EMULATORS):
        count = of_kind["STATS"].number("cycles")
        cycles, ratio = f"{count:,}", f"{count / instructions:.2f}"
    cells = [f"`{model}`", isa, f"`{where}`", f"`{of_kind['HASH'].hash()}`", f"{instructions:,}"]
    return f"| {' | '.join([*cells, cycles, ratio])} |"


@cli.program("gates", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument(
        "--run",
        dest="runs",
        action="append",
        nargs=4,
        required=True,
        metavar=("MODEL", "ISA", "WHERE", "RECORD"),
        help=argparse.SUPPRESS,
    )
    options = parser.parse_args(args)
    print(*_HEADER, sep="\n")
    for model, isa, where, record in options.runs:
        print(row(model, isa, where, judge.load(Path(record))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
