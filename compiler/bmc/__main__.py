"""Entry point of `python -m bmc`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from bmc import arithmetic, guard
from bmc.errors import BmcError


def _command() -> int:
    from bmc import cli

    return cli.main(sys.argv[1:])


def _is_code(argv: list[str]) -> bool:
    """Whether the model is a Python file. Only that may use the network, since a model file is data."""
    return any(re.search(r"\.py:\w+$", a) and before != "--cases" for before, a in _pairs(argv))


def _outputs(argv: list[str]) -> list[Path]:
    """What the options name that a command writes to."""
    return [Path(value) for option, value in _pairs(argv) if option in ("--keep", "--out")]


def _pairs(argv: list[str]) -> Iterator[tuple[str, str]]:
    """Each word of the command line with the word before it, which may be its option."""
    words = [word for argument in argv for word in argument.split("=", 1)]
    return zip(words, words[1:], strict=False)


def main() -> int:
    """The program `bmc`; returns its exit status."""
    arithmetic.enter()
    # `bazel run` starts in a folder of its own, but paths are relative to the user's.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    try:
        return guard.run(_command, outputs=None if _is_code(sys.argv) else _outputs(sys.argv))
    except BmcError as crash:
        from bmc import cli

        return cli.fail(crash)


if __name__ == "__main__":
    sys.exit(main())
