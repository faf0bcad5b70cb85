"""Entry point of `python -m bmc`."""

from __future__ import annotations

import os
import re
import sys

from bmc import arithmetic, guard
from bmc.errors import BmcError


def _command() -> int:
    from bmc import cli

    return cli.main(sys.argv[1:])


def _is_code(argv: list[str]) -> bool:
    """Whether the model is a Python file. Only that may use the network, since a model file is data."""
    pairs = zip(argv, argv[1:], strict=False)
    return any(re.search(r"\.py:\w+$", a) and before != "--cases" for before, a in pairs)


def main() -> int:
    """The program `bmc`; returns its exit status."""
    arithmetic.enter()
    # `bazel run` starts in a folder of its own, but paths are relative to the user's.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    try:
        return guard.run(_command, offline=not _is_code(sys.argv))
    except BmcError as crash:
        from bmc import cli

        return cli.fail(crash)


if __name__ == "__main__":
    sys.exit(main())
