"""What `X.bench<VLEN>` has of an image: a record for each model, and for each command of its plan that ran."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command: what all its runs in one inference took, and the fewest instructions that they could take."""

    kind: str
    function: str
    op: str
    layer: str
    source: str
    class_: str
    times: int
    instructions: int
    macs: int
    bound: float


@dataclass(frozen=True)
class Executed(Command):
    """The same of a kernel that is in the image: what it executed (docs/performance.md).

    `cycles` are modeled; None if the model of the core does not know an instruction.
    """

    work: float
    vector_products: float
    scalar_products: float
    spills: float
    cycles: float | None


@dataclass(frozen=True)
class Model:
    """A model. `instructions` are those of one inference, `core` is the one whose cycles are modeled."""

    name: str
    isa: str
    vlen: int
    core: str
    instructions: int
    arena_bytes: int
    liveness_bound_bytes: int
    commands: tuple[Executed | Command, ...]
