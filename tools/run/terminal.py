"""Starts an emulator at this terminal: what is typed goes to the firmware's console.

example:
  tools/bazel run //models/decoder_lm:chat
"""

from __future__ import annotations

import argparse
import os
import sys

from tools import cli
from tools.run import process


@cli.program("terminal", __doc__, status=2)
def main(parser: cli.Parser, args: list[str]) -> int:
    # The rule gives these.
    parser.add_argument("--tool-path", action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--emulator", action="append", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    argv = options.emulator
    try:
        # It takes this process's place, and with it the terminal.
        os.execve(argv[0], argv, process.with_tools(options.tool_path))
    except OSError as error:
        raise cli.UserError(f"cannot start {argv[0]}: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
