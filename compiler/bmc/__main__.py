"""Entry point of `python -m bmc`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bmc import command


def _command(argv: Sequence[str]) -> int:
    # After the process has been divided in two, because it may start threads.
    from bmc import cli

    return cli.main(argv)


def main() -> int:
    """The program `bmc`; returns its exit status."""
    return command.run(_command)


if __name__ == "__main__":
    sys.exit(main())
