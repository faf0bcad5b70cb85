"""What IREE's host program does for a call of each entry point, with everything known at build time known.

What is not known, values that the program reads back from its own results, are Variables; a driver
says what is computed of them and which commands run when.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bmc.dtype import DType

# Every storage begins at a multiple of this many bytes, on the host and on the target.
ALIGNMENT = 64


class StorageKind(enum.Enum):
    """INPUT: the caller's tensor; CONSTANT: read-only data; SLAB: memory the program allocates;
    STATE: memory that keeps its contents from one call to the next."""

    INPUT = "input"
    CONSTANT = "constant"
    SLAB = "slab"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Variable:
    """An integer of 32 or 64 bits that only the target knows; `index` counts within its entry."""

    index: int
    bits: int


Integer = int | Variable


@dataclass(frozen=True, slots=True)
class Storage:
    """One piece of memory: `index` counts within its kind (.inputs and .slabs of the Entry,
    .constants and .states of the HostProgram)."""

    kind: StorageKind
    index: int
    length: int


@dataclass(frozen=True, slots=True)
class Span:
    """A byte range of a storage."""

    storage: Storage
    offset: Integer
    length: int

    @property
    def start(self) -> int:
        """The offset, where it must be known: in constants and initial values."""
        assert isinstance(self.offset, int)
        return self.offset


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
    constants: tuple[Integer, ...]
    bindings: tuple[Span, ...]
    barrier: bool

    @property
    def spans(self) -> tuple[Span, ...]:
        return self.bindings


@dataclass(frozen=True, slots=True)
class Fill:
    """Repeats the low `pattern_bytes` bytes of `pattern` over the target."""

    target: Span
    pattern: Integer
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


# Statements of a driver.


@dataclass(frozen=True, slots=True)
class Run:
    """Runs commands [first, end) of the entry."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Let:
    """target = operation(operands), for an operation of the VM dialect such as "vm.add.i32"."""

    target: Variable
    operation: str
    operands: tuple[Integer, ...]


@dataclass(frozen=True, slots=True)
class Load:
    """target = the unsigned little-endian number in `source`."""

    target: Variable
    source: Span


@dataclass(frozen=True, slots=True)
class Assign:
    """All targets take their sources' values at once."""

    targets: tuple[Variable, ...]
    sources: tuple[Integer, ...]


@dataclass(frozen=True, slots=True)
class Label:
    block: int


@dataclass(frozen=True, slots=True)
class Goto:
    block: int


@dataclass(frozen=True, slots=True)
class Branch:
    """One list of statements if the condition is not zero, else the other."""

    condition: Variable
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Return:
    pass


Statement = Run | Let | Load | Assign | Label | Goto | Branch | Return


@dataclass(frozen=True)
class Entry:
    """A function of the model.

    Attributes:
      name: as exported.
      inputs, outputs: tensors in signature order.
      slabs: allocations in order.
      commands: `barrier` says the command waits for all before it.
      driver: what runs the commands when; () if they run once each, in order.
      variable_bits: width of each Variable.
    """

    name: str
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    slabs: tuple[Slab, ...]
    commands: tuple[Command, ...]
    driver: tuple[Statement, ...] = ()
    variable_bits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """What the model remembers under a name; `length` in bytes."""

    name: str
    length: int


@dataclass(frozen=True)
class HostProgram:
    """What the model's functions come down to.

    Attributes:
      executable: the embedded ELF with all kernels; empty if the program launches none.
      constants: read-only data in the order the program obtains it.
      states: what is remembered between calls.
      reset: gives the states their initial values.
      entries: the functions, in order of declaration.
    """

    executable: bytes
    constants: tuple[Constant, ...]
    states: tuple[State, ...]
    reset: tuple[Command, ...]
    entries: tuple[Entry, ...]

    @property
    def commands(self) -> tuple[Command, ...]:
        """Every command there is."""
        return (*self.reset, *(command for entry in self.entries for command in entry.commands))
