"""Entry point of `python -m bmc`."""

from __future__ import annotations

import sys

from bmc import guard


def _command() -> int:
    from bmc import cli

    return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(guard.run(_command))
