"""One case of a framework's own test suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from bmc.artifacts import ImportedModel


class Outcome(Enum):
    """How a case ended.

    REFUSED is a sentence at import or compile time. CAUGHT is a wrong answer of IREE's, which the host check of imports
    refuses. UNDECIDED is a case whose answer moves by more than its tolerance if the inputs move by a few roundings.
    CRASH is anything but a sentence: an exception, a signal, a deadline, a trap on the target.
    """

    RIGHT = "right"
    REFUSED = "refused"
    CAUGHT = "caught"
    UNDECIDED = "undecided"
    WRONG = "wrong"
    CRASH = "crash"


@dataclass(frozen=True)
class Case:
    """A model with inputs, and with the outputs that the suite or its framework expects.

    Attributes:
      op: the framework's name of the op that the case tests.
      dtype: the element type of what the op computes on, as the framework names it.
      name: the suite's own name of the case.
      load: imports the model into a folder; raises BmcError.
      outside: why the case does not count, such as "strings"; "" if it does.
      large: whether it is too large to share an image, and may take hours in an emulator.
    """

    op: str
    dtype: str
    name: str
    load: Callable[[Path], ImportedModel]
    outside: str = ""
    large: bool = False


# Why a name of the table stands for nothing: its operator has fewer samples.
NO_CASE = "no such sample"


class OutsideError(Exception):
    """A case turns out not to count; the message says why, and a BmcError that caused it is its sentence."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a case.

    Attributes:
      sentence: one sentence unless it is RIGHT, or does not count.
      outside: why it does not count, if that shows only now.
    """

    outcome: Outcome
    sentence: str = ""
    outside: str = ""
