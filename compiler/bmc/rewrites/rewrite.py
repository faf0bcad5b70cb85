"""A rewrite of the IR: one file, one function, one place in the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bmc.iree.phases import Phase
from bmc.rewrites.context import Context


def _always(_: Context) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One entry of the pipeline.

    Attributes:
      name: of its module.
      after: the phase whose IR it rewrites.
      why: why it stands at this place, one or two sentences.
      apply: changes a module in place. Raises BmcError for what the user has to change.
      applies: whether the model or the target calls for it at all.
    """

    name: str
    after: Phase
    why: str
    apply: Callable[[Any, Context], None]
    applies: Callable[[Context], bool] = _always
