"""Starts gdb at a dispatch of firmware (X.debug), or finds the dispatch that goes wrong (X.bisect).

examples:
  tools/bazel run //models:mlp_rv64.debug -- --dispatch 2 --batch
  tools/bazel run //models:mlp_rv64.bisect
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tools import cli
from tools.run.debug import bisect, session
from tools.run.debug.program import Program


@cli.program("debug", __doc__, status=2)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--session", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--model", default="", help="name of the model; default: the first one")
    parser.add_argument("--call", type=int, metavar="K", help="call of the model, counted from 0")
    parser.add_argument(
        "--port", default="", help="selects the probe, if the board's openocd.cfg needs it"
    )
    stop = parser.add_argument_group("stopping (not for .bisect)")
    stop.add_argument(
        "--dispatch",
        type=int,
        metavar="N",
        help="stop before command N of the plan, as counted by TRAP records and report.json;"
        " default: the first dispatch",
    )
    stop.add_argument(
        "--dump", type=cli.user_path, metavar="DIR", help="run it and save its tensors as .npy"
    )
    stop.add_argument("--batch", action="store_true", help="print where it stopped and exit")
    options = parser.parse_args(args)
    data = json.loads(options.session.read_text())
    program = Program.of(data["program"], options.port)
    if data["reference"] is not None:
        reference = Program.of(data["reference"])
        result = bisect.run(data["gdb"], program, reference, options.model, options.call)
        print(result.sentence)
        return 0 if result.agree else 1
    commands = _commands(options)
    if not options.batch:
        return session.interactive(data["gdb"], program, commands)
    print(session.batch(data["gdb"], program, commands), end="")
    return 0


def _commands(options: argparse.Namespace) -> list[str]:
    """Returns the gdb commands for the user's options."""
    where = ["-" if options.dispatch is None else str(options.dispatch), str(options.call or 0)]
    commands = [" ".join(["ironcast stop", *where, options.model])]
    if options.batch:
        commands.append("backtrace")
    if options.dump:
        commands.append(f'ironcast dump "{options.dump.absolute()}"')
    return commands


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
