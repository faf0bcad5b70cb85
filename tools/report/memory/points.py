"""What `X.memory` finds, and what it writes for `X.view`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A model, compiled into some RAM.

    Attributes:
      ram: bytes that the model itself needs, which `ram` of bm_model bounds.
      arena: bytes of them that are the arena.
      instructions: of one inference, counted by Spike.
      cycles: modeled, of one inference in bmc's own kernels.
      own: dispatches that have such kernels.
      dispatches: all of them.
      flash: bytes of kernels, weights and plan.
      asked: the `ram` that it was compiled for, None for any.
    """

    ram: int
    arena: int
    instructions: int
    cycles: int
    own: int
    dispatches: int
    flash: int
    asked: int | None


@dataclass(frozen=True)
class Frontier:
    """The points of a model of which no other needs less RAM and fewer instructions, the largest first.

    Attributes:
      model: its C name, as in reports.
      points: the points.
      rows: bytes that its tensors alone would need if each of their rows was computed apart.
    """

    model: str
    points: tuple[Point, ...]
    rows: int


@dataclass(frozen=True)
class Frontiers:
    """What `X.memory --out` writes: a row for each model."""

    models: tuple[Frontier, ...]
