"""What is said about a tokenizer that cannot be compiled."""

from __future__ import annotations

from bmc.errors import BmcError


def refused(what: str) -> BmcError:
    """Returns the error about a part of a tokenizer; `what` it has completes the sentence."""
    return BmcError(
        "unsupported-tokenizer",
        f"the tokenizer has {what}, which cannot be compiled for the target",
        hint="docs/how-to/text-on-the-target.md lists what can",
    )
