"""What rewrites are told, and what they leave for later parts of the compiler."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bmc.dtype import DType
from bmc.rewrites.tiles.root import Levels
from bmc.target import Target

# The function that gives all states their initial values.
RESET = "__reset"


@dataclass(frozen=True, slots=True)
class StateInfo:
    """A mutable tensor global: its MLIR type, and the same in parts; `length` in bytes."""

    name: str
    type: str
    dtype: DType
    shape: tuple[int, ...]
    length: int


@dataclass(frozen=True, slots=True)
class Uses:
    """States of a function by number: those it takes after its inputs, and those it gives after its
    outputs and takes storage for at the end."""

    read: tuple[int, ...] = ()
    written: tuple[int, ...] = ()


@dataclass(frozen=True)
class States:
    """All states of a model and what each function does with them; RESET gives all of them."""

    infos: tuple[StateInfo, ...] = ()
    uses: dict[str, Uses] = field(default_factory=dict)

    def of(self, function: str) -> Uses:
        return self.uses.get(function, Uses())


@dataclass(frozen=True)
class Config:
    """The lowering configuration of one dispatch.

    Attributes:
      function: dispatch function.
      op: its op signature.
      root: operation the tile sizes are of, "linalg.matmul".
      default: what IREE chose, tile sizes by level.
      applied: what the kernel is compiled with.
      origin: who chose it: "iree", "bmc" or "tuning".
    """

    function: str
    op: str
    root: str
    default: Levels
    applied: Levels
    origin: str


@dataclass
class Context:
    """What travels along the pipeline beside the IR.

    Attributes:
      target: instruction set.
      int8: whether the model is quantized.
      tuning: tuning.json, or None for the defaults.
      states: set by `states`.
      permutations: of each weight that is stored otherwise than in the parameter archive, the axes for
        numpy.transpose.
      configs: set by `configs`.
    """

    target: Target
    int8: bool = False
    tuning: Path | None = None
    states: States = States()
    permutations: dict[str, tuple[int, ...]] = field(default_factory=dict)
    configs: tuple[Config, ...] = ()
