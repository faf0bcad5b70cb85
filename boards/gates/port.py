"""Runs a system in gates with a serial port in place of its console, for programs that open such ports.

Prints the port's name, and then becomes the simulator. It ends when the firmware does.
"""

from __future__ import annotations

import os
import pty
import sys
import tty
from pathlib import Path

from tools import cli

# It runs until someone ends it.
CYCLES = 1 << 62


@cli.program("port", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("simulator", type=Path, help="of the system")
    parser.add_argument("rom", type=Path, help="ELF for its ROM")
    options = parser.parse_args(args)
    board, port = pty.openpty()
    tty.setraw(port)
    print(os.ttyname(port), flush=True)
    # With nobody at the other end, the simulator's input would be at its end.
    os.set_inheritable(port, True)
    os.dup2(board, sys.stdin.fileno())
    os.dup2(board, sys.stdout.fileno())
    os.execv(options.simulator, [options.simulator, str(CYCLES), options.rom])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
