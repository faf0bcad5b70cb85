"""What goes wrong for a user of the package."""

from __future__ import annotations


class IroncastError(Exception):
    """The model cannot be compiled or run. The message says what is wrong, where, and what to do."""
