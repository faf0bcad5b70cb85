"""The one exception of this program."""

from __future__ import annotations


class FreshError(Exception):
    """One sentence for the user: what failed, where, what to do."""
