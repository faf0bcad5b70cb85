"""The two kinds of failure: a mistake in the input (BmcError) or in bmc itself (InternalError)."""

from __future__ import annotations

from collections.abc import Iterable

from bmc.names import brief, printable

EXIT_USER_ERROR = 1
EXIT_INTERNAL_ERROR = 70


class BmcError(Exception):
    """A mistake that the user has to fix.

    Attributes:
      kind: a short, stable name for tests and scripts, such as "unsupported-relocation".
      message: one sentence without a final period that says what is wrong and names the op or file.
      where: "model.py:42", a file or a key; "" if the message says it all.
      hint: what to do about it; "" if there is nothing useful to say.
      others: further mistakes, of which `bmc check` tells; other commands report one at a time.
    """

    others: tuple[BmcError, ...] = ()

    def __init__(self, kind: str, message: str, *, where: str = "", hint: str = "") -> None:
        # These quote names from model files.
        self.message, self.where, self.hint = (
            printable(brief(text)) for text in (message, where, hint)
        )
        super().__init__(self.message)
        self.kind = kind

    def __str__(self) -> str:
        text = f"error[{self.kind}]: {self.message}"
        if self.where:
            text += f" (at {self.where})"
        if self.hint:
            text += f"\n  hint: {self.hint}"
        return text


def raise_first(found: Iterable[BmcError]) -> None:
    """Raises the first of some mistakes, if there is one, with the others."""
    errors = tuple(found)
    if errors:
        errors[0].others = errors[1:]
        raise errors[0]


class InternalError(Exception):
    """A broken assumption inside bmc, which is never the user's fault."""
