"""The program with which builds import models: bmc without all that comes after, whose changes import nothing again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bmc import command


def _main(argv: Sequence[str]) -> int:
    # After the process has been divided in two, because it may start threads.
    from bmc.frontends import importing

    parser = argparse.ArgumentParser(prog="bmc", description=__doc__)
    importing.add_general(parser)
    importing.add_command(parser.add_subparsers(dest="command", required=True))
    return command.dispatch(parser.parse_args(argv), {"import": importing.run})


if __name__ == "__main__":
    sys.exit(command.run(_main))
