"""What rewrites of a model are given while it is the same for every target, and the states that they find."""

from __future__ import annotations

from dataclasses import dataclass, field

from bmc.dtype import DType

# The function that returns the initial values of all states.
RESET = "__reset"


@dataclass(frozen=True, slots=True)
class StateInfo:
    """A mutable tensor global.

    Attributes:
      name: the global's symbol.
      type: its MLIR type.
      dtype: element type, from `type`.
      shape: extents, from `type`.
      length: size in bytes.
    """

    name: str
    type: str
    dtype: DType
    shape: tuple[int, ...]
    length: int


@dataclass(frozen=True, slots=True)
class Uses:
    """The states of one function, by number.

    Attributes:
      read: states that it takes as arguments after its inputs.
      written: states that it returns after its outputs, each with a last argument for its storage.
    """

    read: tuple[int, ...] = ()
    written: tuple[int, ...] = ()


@dataclass(frozen=True)
class States:
    """All states of a model, and which ones each function reads and writes. RESET writes all of them."""

    infos: tuple[StateInfo, ...] = ()
    uses: dict[str, Uses] = field(default_factory=dict)

    def of(self, function: str) -> Uses:
        return self.uses.get(function, Uses())


@dataclass
class ModelContext:
    """The facts that accompany the IR while it is the same for every target.

    Attributes:
      int8: whether the model is quantized.
      states: the model's states; set by `states`.
    """

    int8: bool
    states: States = States()
