"""Shows how little RAM models can do with, and what each step down costs.

Every row is compiled and run on Spike.

example:
  tools/bazel run //models:resnet8_int8_rv64.memory -- --out resnet8.memory.json
  tools/bazel run //models:resnet8_int8_rv64.view -- --memory resnet8.memory.json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from bmc.errors import BmcError
from tools import cli, console
from tools.report.files import save
from tools.report.memory import frontier
from tools.report.memory.points import Frontier, Frontiers, Point
from tools.report.table import table
from tools.report.tune import trial
from tools.report.tune.trial import Bench


@cli.program("memory", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--session", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="file for X.view, also written")
    options = parser.parse_args(args)
    out = console.standard_output()
    found = []
    with trial.benches(options.session) as benches:
        for model, bench in benches:
            found.append(_find(model, bench))
            out.print(*lines(found[-1]), sep="\n")
    if options.out:
        try:
            save(cli.user_path(options.out), Frontiers(tuple(found)))
        except OSError as error:
            raise cli.UserError(f"{options.out} cannot be written: {error.strerror}") from None
    return 0


def _find(model: dict[str, Any], bench: Bench) -> Frontier:
    entries: dict[str, Any] = {}
    if model["tuning"]:
        entries = json.loads(Path(model["tuning"]).read_text(encoding="utf-8")).get(bench.isa, {})

    def compiled(ram: int | None) -> Point:
        tried = dataclasses.replace(bench, ram=ram).run(entries)
        return frontier.point(tried.report, tried.total.instructions, ram)

    def say(line: str) -> None:
        print(f"{model['name']}: {line}", file=sys.stderr)

    try:
        return frontier.find(model["c_name"], compiled, say)
    except (BmcError, cli.UserError) as error:
        raise cli.UserError(f"{model['name']}: {error}") from None


def lines(found: Frontier) -> list[Any]:
    """Returns the table of a model: numbers of bytes, and the cost against no budget in percent; and a sentence."""
    most = found.points[0]
    rows = [
        [
            f"{each.ram:,}",
            f"{each.arena:,}",
            f"{each.instructions:,}",
            _more(each.instructions, most.instructions),
            f"{each.cycles:,}" if each.own else "",
            _more(each.cycles, most.cycles),
            f"{each.own} of {each.dispatches}",
            f"{each.flash:,}",
            f"ram = {each.asked}" if each.asked else "any",
        ]
        for each in found.points
    ]
    headings = ["RAM", "arena", "instructions", "", "modeled cycles", "", "own kernels", "flash"]
    least = f"computed row by row, tensors would take {found.rows:,} bytes"
    return [found.model, table([*headings, "in its bm_model"], rows), least]


def _more(number: int, before: int) -> str:
    return f"{100 * (number / before - 1):+.1f} %" if before and number != before else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
