"""Entry point of `python -m bmc`."""

from __future__ import annotations

import sys

from bmc import cli

if __name__ == "__main__":
    sys.exit(cli.main(sys.argv[1:]))
