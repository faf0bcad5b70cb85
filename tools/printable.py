"""Text from a board or a file, for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Returns text with "?" for every character that neither prints nor ends a line.

    Escape sequences could paint a verdict, and marks that reverse the order could turn one around.
    """
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text.expandtabs())
