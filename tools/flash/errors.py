"""The one exception whose message is meant for the user."""

from __future__ import annotations


class FlashError(Exception):
    """Flashing cannot begin or has failed; the message is one sentence that says what to do."""


class TransferError(FlashError):
    """The receiver gave up or no longer answers; sending again may help."""
