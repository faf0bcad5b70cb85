"""One op whose implementations are compared: an entry in the tables of spread.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bmc.dtype import Array


@dataclass(frozen=True)
class Subject:
    """An op as a model in several implementations.

    Attributes:
      op: the framework's name for the op.
      shape: shape of the only input, which is f32.
      implementations: functions of the input.
    """

    op: str
    shape: tuple[int, ...]
    implementations: tuple[Callable[[Array], Array], ...]
