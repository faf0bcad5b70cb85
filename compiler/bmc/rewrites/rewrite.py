"""A rewrite of the IR is one file with one function, and has one place in the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bmc.iree.phases import Phase

# What rewrites are given: Context or ModelContext.
C = TypeVar("C")


def _always(_: object) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Rewrite(Generic[C]):
    """One entry of the pipeline.

    Attributes:
      name: name of its module.
      after: the phase whose IR it rewrites.
      purpose: what it is for, in a sentence.
      why: the reason for its place, in a sentence or two.
      apply: changes a module in place; raises BmcError for a mistake that the user must fix, or Again
        (decisions.py).
      applies: whether this model and target need the rewrite.
      hides: whether it hides what the phase's observers look for, so that it comes after them.
      faster: whether it is there only to make kernels faster or smaller; models work without it.
    """

    name: str
    after: Phase
    purpose: str
    why: str
    apply: Callable[[Any, C], None]
    applies: Callable[[C], bool] = _always
    faster: bool = False
    hides: bool = False
