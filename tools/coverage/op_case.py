"""One op as a model, with inputs: what the frontends' lists of ops consist of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bmc.artifacts import ImportedModel


@dataclass(frozen=True)
class OpCase:
    """A model of one op.

    Attributes:
      op: what the framework calls the op.
      name: of the case among those of the op.
      load: imports it into a folder with the framework's own answers.
    """

    op: str
    name: str
    load: Callable[[Path], ImportedModel]
