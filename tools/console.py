"""Where a tool prints what people read."""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console

from tools.printable import printable

# Longer lines are hard to read, however wide the terminal is.
WIDTH = 100
# Output to a file or a pipe has no width, so no line is folded.
_NO_END = 1000

GOOD = "bold green"
BAD = "bold red"


def standard_output() -> Console:
    """Returns a console with colors on a terminal, without any elsewhere, which prints text as it is."""
    return _console(sys.stdout)


def complain(program: str, error: Exception) -> None:
    """Prints what the user has to fix, folded between words on a terminal."""
    _console(sys.stderr).print(f"{program}: {printable(str(error))}")


def _console(file: TextIO) -> Console:
    made = Console(file=file, markup=False, highlight=False, emoji=False)
    made.width = min(made.width, WIDTH) if file.isatty() else _NO_END
    return made
