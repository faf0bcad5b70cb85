"""Checks that kernel libraries define the functions that their matchers call.

The linker would say which symbol is missing, but not who wants it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bmc.report import Model
from tools import cli
from tools.actions.persistent_worker import persistent_worker
from tools.report.files import load

# A large library is not listed in a message.
_MOST_NAMED = 8


def problems(report: Model, defined: set[str]) -> list[str]:
    """Returns a sentence for each function that a model calls and nothing defines.

    Args:
      report: the compiler's.
      defined: functions in the archives of the model's kernel libraries.
    """
    found = []
    for dispatch in report.dispatches:
        call = dispatch.call
        if not call:
            continue
        names = ", ".join(sorted(defined)) if 0 < len(defined) <= _MOST_NAMED else ""
        has = f"; they define {names}" if names else ""
        found += [
            f"the matcher of {call.library} computes '{dispatch.op}' with '{function}', which no source "
            f"or archive of the library defines{has}"
            for function in (call.function, call.wait)
            if function and function not in defined
        ]
    return list(dict.fromkeys(found))


def _defined(nm: str, archives: list[Path]) -> set[str]:
    """Returns the global functions of archives."""
    command = [nm, "--defined-only", "--extern-only", "--format=just-symbols", *map(str, archives)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line for line in text.splitlines() if line.isidentifier()}


@cli.program("functions", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--model", required=True, help="label of the model")
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--nm", required=True)
    parser.add_argument("--archive", type=Path, action="append", default=[])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(args)
    report = load(options.report, Model)
    found = problems(report, _defined(options.nm, options.archive))
    for problem in found:
        print(f"{options.model}: error: {problem}", file=sys.stderr)
    options.out.write_text("")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(persistent_worker.run(main, sys.argv[1:]))
