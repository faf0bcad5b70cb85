"""The two ways bmc fails: the input is wrong (BmcError) or bmc is (InternalError)."""

from __future__ import annotations

from bmc.names import printable

EXIT_USER_ERROR = 1
EXIT_INTERNAL_ERROR = 70


class BmcError(Exception):
    """What the user has to change.

    Attributes:
      kind: stable short name tests and scripts may match, e.g. "unsupported-relocation".
      message: one sentence without a final full stop: what is wrong, naming the op or file.
      where: "model.py:42", a file or a key; "" when the message says it all.
      hint: what to do about it; "" when there is nothing useful to add.
    """

    def __init__(self, kind: str, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(printable(message))
        self.kind = kind
        # They quote names from a model file.
        self.message = printable(message)
        self.where = printable(where)
        self.hint = printable(hint)

    def __str__(self) -> str:
        text = f"error[{self.kind}]: {self.message}"
        if self.where:
            text += f" (at {self.where})"
        if self.hint:
            text += f"\n  hint: {self.hint}"
        return text


class InternalError(Exception):
    """A broken assumption inside bmc; never the user's fault."""
