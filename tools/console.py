"""Where a tool prints what people read."""

from __future__ import annotations

import sys

from rich.console import Console

from tools.cli import WIDTH

# Output to a file or a pipe has no width, so no line is folded.
_NO_END = 1000

GOOD = "bold green"
BAD = "bold red"


def standard_output() -> Console:
    """Returns a console with colors on a terminal, without any elsewhere, which prints text as it is."""

    made = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    made.width = min(made.width, WIDTH) if sys.stdout.isatty() else _NO_END
    return made
