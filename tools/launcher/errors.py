"""The launcher's one exception."""

from __future__ import annotations


class LauncherError(Exception):
    """One sentence for the user: what failed, where, what to do."""
