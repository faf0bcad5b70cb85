"""The operations of IREE's host program in a call of each entry point, as far as the build can know them.

The unknown values, which the program reads back from its own results, are Variables. A driver says what
is computed from them and when commands run.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bmc.dtype import DType

# Every storage begins at a multiple of this many bytes, on the host and on the target.
ALIGNMENT = 64


class StorageKind(enum.Enum):
    """The kinds of memory.

    INPUT is a tensor of the caller, CONSTANT is read-only data, SLAB is memory that the program allocates,
    and STATE is memory that keeps its contents between calls.
    """

    INPUT = "input"
    CONSTANT = "constant"
    SLAB = "slab"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Variable:
    """An integer of 32 or 64 bits that only the target knows. `index` counts within the entry."""

    index: int
    bits: int


Integer = int | Variable


@dataclass(frozen=True, slots=True)
class Storage:
    """One piece of memory.

    `index` counts within its kind: .inputs and .slabs of the HostFunction, .constants and .states of the
    HostProgram. `length` is in bytes.
    """

    kind: StorageKind
    index: int
    length: int


@dataclass(frozen=True, slots=True)
class Span:
    """A byte range of a storage; offset and length in bytes."""

    storage: Storage
    offset: Integer
    length: int

    @property
    def start(self) -> int:
        """The offset where it must be known, which is in constants and initial values."""
        assert isinstance(self.offset, int)
        return self.offset

    def overlaps(self, other: Span) -> bool:
        """Whether it shares a byte with a span; both offsets are known."""
        return (
            self.storage == other.storage
            and self.start < other.start + other.length
            and other.start < self.start + self.length
        )


@dataclass(frozen=True, slots=True)
class View:
    """A tensor at the model's boundary."""

    span: Span
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One kernel launch. `constants` are the push constants, as 32-bit words; `layer` is the model's name for it."""

    function: str
    workgroups: tuple[int, int, int]
    constants: tuple[Integer, ...]
    bindings: tuple[Span, ...]
    layer: str = ""

    @property
    def spans(self) -> tuple[Span, ...]:
        return self.bindings


@dataclass(frozen=True, slots=True)
class Fill:
    """Repeats the low `pattern_bytes` bytes of `pattern` over the target."""

    target: Span
    pattern: Integer
    pattern_bytes: int

    @property
    def spans(self) -> tuple[Span, ...]:
        return (self.target,)


@dataclass(frozen=True, slots=True)
class Copy:
    source: Span
    target: Span

    @property
    def spans(self) -> tuple[Span, ...]:
        return (self.source, self.target)


HalCommand = Dispatch | Fill | Copy


@dataclass(frozen=True, slots=True)
class Constant:
    """Read-only data.

    One of three kinds: a key of the parameter archive, the bytes themselves, or the result of fills and
    copies during initialization. `length` is in bytes.
    """

    name: str
    length: int
    parameter: str = ""
    data: bytes = b""
    writes: tuple[Fill | Copy, ...] = ()


@dataclass(frozen=True, slots=True)
class Slab:
    """An allocation of `length` bytes, alive from command `first` up to but not including command `end`."""

    length: int
    first: int
    end: int


# The statements of a driver.


@dataclass(frozen=True, slots=True)
class Run:
    """Runs commands [first, end) of the entry."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Let:
    """target = operation(operands). The operation is from the VM dialect, such as "vm.add.i32"."""

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
    """All targets receive their sources' values at once."""

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
    """Runs `then` if the condition is not zero, else `otherwise`."""

    condition: Variable
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Waits until calls of kernel libraries that returned before have done their work."""


@dataclass(frozen=True, slots=True)
class Return:
    pass


Statement = Run | Let | Load | Assign | Label | Goto | Branch | Wait | Return


@dataclass(frozen=True)
class HostFunction:
    """A function of the model.

    Attributes:
      name: its exported name.
      inputs: the input tensors in signature order.
      outputs: the output tensors in signature order.
      slabs: its allocations in order.
      commands: in the order in which they run.
      driver: says which commands run when; () if all run once and in order.
      variable_bits: the width of each Variable.
    """

    name: str
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    slabs: tuple[Slab, ...]
    commands: tuple[HalCommand, ...]
    driver: tuple[Statement, ...] = ()
    variable_bits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A named tensor that the model keeps between calls. `length` is in bytes."""

    name: str
    length: int


@dataclass(frozen=True)
class HostProgram:
    """The model's functions, reduced to data.

    Attributes:
      executable: the embedded ELF with all kernels, empty if the program launches none.
      constants: read-only data in the order in which the program obtains it.
      states: the tensors kept between calls.
      reset: commands that give the states their initial values.
      entries: the functions in order of declaration.
    """

    executable: bytes
    constants: tuple[Constant, ...]
    states: tuple[State, ...]
    reset: tuple[HalCommand, ...]
    entries: tuple[HostFunction, ...]

    @property
    def commands(self) -> tuple[HalCommand, ...]:
        """All commands of the program."""
        return (*self.reset, *(command for entry in self.entries for command in entry.commands))
