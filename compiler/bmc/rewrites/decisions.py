"""The rounds in which a model is compiled for a target, and what one round decides for the next.

Some decisions turn out badly only later. Whether images are stored as planes is decided before IREE forms dispatches;
whether the convolutions between them have kernels of bmc's own is known afterwards. The rewrite that finds out raises
Again with what should have been decided, and everything that is done for the target is done once more: its rewrites,
and all of IREE from the phase `parameters` on. Rewrites find the decisions in their context.

A round raises those decisions first that may make others needless, and not all that it has found: one decision may
cure what another one would be for, and each of them costs something. So a model with several such dispatches goes
through several rounds. Most go through one.

Rounds come to an end. Decisions are added and never taken back, each is about a convolution, product or dispatch of
the model, and a rewrite that heeds a decision gives no cause to raise it again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TypeVar

from bmc.errors import InternalError

_LOG = logging.getLogger(__name__)
_Result = TypeVar("_Result")

# Of a convolution, as ir/contraction.py returns it.
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Decisions:
    """What rewrites decide otherwise than they would, because it turned out badly in later phases.

    Attributes:
      pixels: convolutions whose results stay channels-last, because as planes they get no kernel of bmc's own.
      copied: convolutions that read a padded copy of their image, because no kernel of bmc's own reads through the
        padding.
      gathered: convolutions of one channel that become products of gathered windows, because no kernel of bmc's own
        computes them as they are.
      narrow: products whose weights stay in 8 bits, because no kernel of bmc's own reads them in 16, or one that reads
        8 takes fewer instructions.
      whole: products whose weights stay f32, because no kernel of bmc's own reads them as f16.
      left: dispatch functions that no kernel library takes, because a weight that it would pack is no constant.
    """

    pixels: frozenset[Shape] = frozenset()
    copied: frozenset[Shape] = frozenset()
    gathered: frozenset[Shape] = frozenset()
    narrow: frozenset[Shape] = frozenset()
    whole: frozenset[Shape] = frozenset()
    left: frozenset[str] = frozenset()

    def __or__(self, other: Decisions) -> Decisions:
        names = [field.name for field in fields(self)]
        return Decisions(*(getattr(self, name) | getattr(other, name) for name in names))


class Again(Exception):
    """The rewrites for the target must run again, with `decisions` added to the context's."""

    def __init__(self, decisions: Decisions) -> None:
        super().__init__(decisions)
        self.decisions = decisions


def decided(compile_with: Callable[[Decisions], _Result]) -> _Result:
    """Compiles for a target, in as many rounds as it takes.

    Args:
      compile_with: one round, from the same input each time; raises Again.

    Raises:
      InternalError: a round raised what had been decided before it, so there would be no end.
    """
    decisions = Decisions()
    while True:
        try:
            return compile_with(decisions)
        except Again as again:
            more = decisions | again.decisions
            if more == decisions:
                raise InternalError(f"a rewrite takes no notice of {decisions}") from None
            _LOG.info("compiling for the target again, with %s", again.decisions)
            decisions = more
