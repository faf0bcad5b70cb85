"""Where a tool prints what people read."""

from __future__ import annotations

import sys

from rich.console import Console

# Output to a file or a pipe has no width, so no line is folded.
_NO_END = 1000


def standard_output() -> Console:
    """Returns a console as wide as the terminal, which prints text as it is."""
    width = None if sys.stdout.isatty() else _NO_END
    return Console(width=width, markup=False, highlight=False, emoji=False)
