"""Entry point of `python -m bmc`."""

from __future__ import annotations

import os
import sys

from bmc import guard
from bmc.errors import BmcError


def _command() -> int:
    from bmc import cli

    return cli.main(sys.argv[1:])


def _main() -> int:
    # `bazel run` starts in a folder of its own; paths are the user's.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    try:
        return guard.run(_command)
    except BmcError as crash:
        from bmc import cli

        return cli.fail(crash)


if __name__ == "__main__":
    sys.exit(_main())
