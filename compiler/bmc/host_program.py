"""What IREE's host program does for one call of `main`, with everything known at build time known."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bmc.dtype import DType


class StorageKind(enum.Enum):
    """INPUT: the caller's tensor; CONSTANT: read-only data; SLAB: memory the program allocates."""

    INPUT = "input"
    CONSTANT = "constant"
    SLAB = "slab"


@dataclass(frozen=True, slots=True)
class Storage:
    """One piece of memory: `index` counts within its kind (HostProgram.inputs, .constants, .slabs)."""

    kind: StorageKind
    index: int
    length: int


@dataclass(frozen=True, slots=True)
class Span:
    """A byte range of a storage."""

    storage: Storage
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class View:
    """A tensor at the border of the model."""

    span: Span
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One kernel launch. `constants` are the push constants, 32-bit words."""

    function: str
    workgroups: tuple[int, int, int]
    constants: tuple[int, ...]
    bindings: tuple[Span, ...]
    barrier: bool

    @property
    def spans(self) -> tuple[Span, ...]:
        return self.bindings


@dataclass(frozen=True, slots=True)
class Fill:
    """Repeats the low `pattern_bytes` bytes of `pattern` over the target."""

    target: Span
    pattern: int
    pattern_bytes: int
    barrier: bool

    @property
    def spans(self) -> tuple[Span, ...]:
        return (self.target,)


@dataclass(frozen=True, slots=True)
class Copy:
    source: Span
    target: Span
    barrier: bool

    @property
    def spans(self) -> tuple[Span, ...]:
        return (self.source, self.target)


Command = Dispatch | Fill | Copy


@dataclass(frozen=True, slots=True)
class Constant:
    """Read-only data: a key of the parameter archive, the bytes themselves, or fills and copies that
    initialization makes it of (barriers mean nothing in them)."""

    name: str
    length: int
    parameter: str = ""
    data: bytes = b""
    writes: tuple[Fill | Copy, ...] = ()


@dataclass(frozen=True, slots=True)
class Slab:
    """An allocation that lives from before command `first` to after command `last` (end exclusive)."""

    length: int
    first: int
    end: int


@dataclass(frozen=True)
class HostProgram:
    """The straight line `main` comes down to.

    Attributes:
      executable: the embedded ELF with all kernels; empty if the program launches none.
      inputs, outputs: tensors in signature order.
      constants: read-only data in the order the program obtains it.
      slabs: allocations in order.
      commands: in execution order; `barrier` says the command waits for all before it.
    """

    executable: bytes
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    constants: tuple[Constant, ...]
    slabs: tuple[Slab, ...]
    commands: tuple[Command, ...]
