"""The exception of programs that use apt."""

from __future__ import annotations


class AptError(Exception):
    """One sentence for the user: what failed, where, what to do."""
