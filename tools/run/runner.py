"""Boots firmware in its execution environment, and writes the whole run to a JSON file for tests and reports to judge.

It fails only when the run could not start or did not end, so a verdict is never confused with a broken harness.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tools import cli
from tools.actions.persistent_worker import persistent_worker
from tools.printable import printable
from tools.run import process

TAIL_LINES = 50


@cli.program("runner", __doc__, status=2)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--deadline", type=float, required=True, help="seconds")
    parser.add_argument("--tool-path", action="append", default=[], help="program to put on PATH")
    parser.add_argument("--out", type=Path, required=True, help="JSON file")
    own, separator, argv = _split(args)
    options = parser.parse_args(own)
    if not separator or not argv:
        parser.error("no emulator named: put `-- emulator arguments...` at the end")
    env = process.with_tools(options.tool_path)
    return _record(argv, options.deadline, env, options.out)


def _split(args: list[str]) -> tuple[list[str], bool, list[str]]:
    if "--" not in args:
        return args, False, []
    at = args.index("--")
    return args[:at], True, args[at + 1 :]


def _record(argv: list[str], deadline: float, env: dict[str, str], out: Path) -> int:
    outcome = process.run(argv, deadline, env=env)
    if outcome.exit_status is None:
        print(*map(printable, outcome.lines[-TAIL_LINES:]), sep="\n", file=sys.stderr)
        print(
            f"runner: {Path(argv[0]).name} did not end within {deadline:g} s (last lines above); "
            "on a slow machine, raise the deadline of its bm_exec_env",
            file=sys.stderr,
        )
        return 1
    out.write_text(
        json.dumps({"exit_status": outcome.exit_status, "lines": outcome.lines}, indent=0) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(persistent_worker.run(main, sys.argv[1:]))
