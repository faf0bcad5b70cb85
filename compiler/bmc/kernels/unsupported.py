"""The refusal of problems."""

from __future__ import annotations


class Unsupported(Exception):
    """This package has no kernel for a problem. The message names what is unsupported."""
