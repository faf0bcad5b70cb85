"""One op as a model with inputs: an entry in the frontends' lists of ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bmc.artifacts import ImportedModel


@dataclass(frozen=True)
class OpCase:
    """A model of one op.

    Attributes:
      op: the framework's name for the op.
      name: distinguishes the cases of an op.
      load: imports it into a folder, with the framework's own answers.
    """

    op: str
    name: str
    load: Callable[[Path], ImportedModel]
