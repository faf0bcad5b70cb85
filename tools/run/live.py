"""Boots an image in its emulator and shows whether it computes what the framework computed.

example:
  tools/bazel run //models:mlp_rv64 -- --raw
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from pathlib import Path

from bmc.report import Model
from tools import cli, console
from tools.report.files import load
from tools.run import process, result
from tools.run.progress import Bar
from tools.run.screen import Screen


@cli.program("run", __doc__, status=2)
def main(parser: cli.Parser, args: list[str]) -> int:
    """Entry point; returns the exit status: 1 the firmware failed, 2 the emulator did."""
    # The rule gives everything up to the emulator's own arguments; the user's words are the last.
    parser.add_argument(
        "--raw", action="store_true", help="show the console as the firmware writes it"
    )
    parser.add_argument("--deadline", type=float, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--expect", default="PASS", choices=result.ENDS, help=argparse.SUPPRESS)
    parser.add_argument("--tool-path", action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--report", type=Path, action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--emulator", action="append", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    return run(options)


def run(options: argparse.Namespace) -> int:
    """Runs the emulator and shows the run; returns the exit status."""
    out = console.standard_output()
    reports = [load(path, Model) for path in options.report]
    screen = Screen(out, reports, options.raw)
    start = time.monotonic()
    with contextlib.nullcontext() if options.raw else Bar(out, reports) as bar:

        def show(line: str) -> None:
            screen.line(line)
            if bar:
                bar.line(line)

        environment = process.with_tools(options.tool_path)
        try:
            outcome = process.run(options.emulator, options.deadline, show, environment)
        finally:
            screen.flush()
    how = f" ({time.monotonic() - start:.1f} s in the emulator)"
    verdict = result.judge_expected(outcome, options.expect)
    return 0 if screen.verdict(verdict, options.expect, how) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
