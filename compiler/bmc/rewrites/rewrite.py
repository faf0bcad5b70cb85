"""A rewrite of the IR is one file with one function, and has one place in the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bmc.iree.phases import Phase
from bmc.rewrites.context import Context, Shape


def _always(_: Context) -> bool:
    return True


class Again(Exception):
    """The pipeline must run again.

    Attributes:
      pixels, copied, gathered, narrow, left: what is added to the context's sets of these names.
    """

    def __init__(
        self,
        pixels: frozenset[Shape] = frozenset(),
        copied: frozenset[Shape] = frozenset(),
        gathered: frozenset[Shape] = frozenset(),
        narrow: frozenset[Shape] = frozenset(),
        left: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(pixels, copied, gathered, narrow, left)
        self.pixels = pixels
        self.copied = copied
        self.gathered = gathered
        self.narrow = narrow
        self.left = left


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One entry of the pipeline.

    Attributes:
      name: name of its module.
      after: the phase whose IR it rewrites.
      why: the reason for its place, in a sentence or two.
      apply: changes a module in place; raises BmcError for a mistake that the user must fix, or Again.
      applies: whether this model and target need the rewrite.
      hides: whether it hides what the phase's observers look for, so that it comes after them.
      faster: whether it is there only to make kernels faster or smaller; models work without it.
    """

    name: str
    after: Phase
    why: str
    apply: Callable[[Any, Context], None]
    applies: Callable[[Context], bool] = _always
    faster: bool = False
    hides: bool = False
