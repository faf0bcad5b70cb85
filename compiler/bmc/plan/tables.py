"""The plan that the runtime walks, as plain data. Mirrors runtime_bm/plan/plan.h."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bmc.artifacts import TensorInfo
from bmc.host.program import ALIGNMENT, Integer, Statement

if TYPE_CHECKING:
    from bmc.plan.calls import LinkedCall

# Limits of the runtime, checked against plan_abi.json by a test.
MAX_BINDINGS = 32
MAX_HARTS = 16
MAX_RANK = 8
FLAG_BARRIER = 1


class Region(enum.IntEnum):
    """bm_plan_binding_t.region."""

    ARENA = 0
    WEIGHTS = 1
    STATE = 2
    FAST = 3


class CommandKind(enum.IntEnum):
    """bm_plan_command_t.kind."""

    DISPATCH = 0
    FILL = 1
    COPY = 2


class Access(enum.IntFlag):
    """bm_plan_binding_t.access."""

    READ = 1
    WRITE = 2


@dataclass(frozen=True, slots=True)
class Binding:
    """A byte range of a region, and what a command does with it.

    The command relies on `offset` being a multiple of `alignment`.
    """

    region: Region
    offset: int
    length: int
    access: Access
    alignment: int


@dataclass(frozen=True, slots=True)
class ConstantPatch:
    """A constant of a command that a driver sets before it runs the command."""

    constant: int
    variable: int


@dataclass(frozen=True, slots=True)
class BindingPatch:
    """A binding that a driver moves to `variable` bytes into the storage [start, start + size)."""

    binding: int
    variable: int
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Command:
    """One step. plan.h says what bindings and constants mean for each kind; only reports show `layer`."""

    kind: CommandKind
    barrier: bool
    export_index: int
    workgroups: tuple[int, int, int]
    constants: tuple[int, ...]
    bindings: tuple[Binding, ...]
    patches: tuple[ConstantPatch | BindingPatch, ...] = ()
    layer: str = ""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A model input or output and where it lies in the arena."""

    info: TensorInfo
    offset: int


@dataclass(frozen=True, slots=True)
class Life:
    """Where a tensor lies, the arena or fast memory, and when; only reports show it.

    `offset` and `length` are in bytes. It is alive from command `first` of its entry point up to but not including
    `end`, which is one more than the number of commands if it is read after the last one.
    """

    region: Region
    offset: int
    length: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Export:
    """A kernel: its name, how many push constants and bindings it takes, and the library's call that it is."""

    name: str
    constant_count: int
    binding_count: int
    call: LinkedCall | None = None


@dataclass(frozen=True, slots=True)
class LoadPlace:
    """Where a Load of the driver reads: `offset` bytes into the storage [start, start + size)."""

    region: Region
    start: int
    size: int
    offset: Integer
    length: int


@dataclass(frozen=True)
class Entry:
    """An entry point.

    Attributes:
      name: as exported.
      first_command: of the plan's.
      command_count: how many are its own.
      inputs, outputs: in signature order.
      lives: of all its tensors in the arena and fast memory, the inputs first.
      driver: statements over commands counted from first_command; () for a straight line.
      loads: for every Load of the driver, by the number of its variable.
      variable_bits: width of each variable.
    """

    name: str
    first_command: int
    command_count: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    lives: tuple[Life, ...] = ()
    driver: tuple[Statement, ...] = ()
    loads: dict[int, LoadPlace] = field(default_factory=dict)
    variable_bits: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Everything the runtime needs to know about a model; sizes and offsets in bytes."""

    name: str
    isa_bits: int
    vlen_bits: int
    arena_bytes: int
    weights_bytes: int
    exports: tuple[Export, ...]
    commands: tuple[Command, ...]
    entries: tuple[Entry, ...]
    state_bytes: int = 0
    fast_bytes: int = 0
    reset_count: int = 0

    @property
    def calls(self) -> tuple[LinkedCall, ...]:
        """The calls of kernel libraries, in the order of the exports that are such calls."""
        return tuple(export.call for export in self.exports if export.call)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Of all entry points, one after the other."""
        return tuple(tensor for entry in self.entries for tensor in entry.inputs)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name in the plan once, in the order in which the table of strings has them."""
        named = [export.name for export in self.exports]
        named += [tensor.info.name for tensor in (*self.inputs, *self.outputs)]
        named += [entry.name for entry in self.entries]
        return tuple(dict.fromkeys((self.name, *named)))

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """Of all entry points, one after the other."""
        return tuple(tensor for entry in self.entries for tensor in entry.outputs)


def align(offset: int) -> int:
    """Rounds up to ALIGNMENT."""
    return (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


# sizeof the runtime's structs, checked against runtime_bm/plan/plan_abi.json by a test.
STRUCT_BYTES = {
    "bm_plan_header_t": 124,
    "bm_plan_entry_t": 32,
    "bm_plan_export_t": 12,
    "bm_plan_command_t": 28,
    "bm_plan_binding_t": 12,
    "bm_plan_tensor_t": 24,
}
