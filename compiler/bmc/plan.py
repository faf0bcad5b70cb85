"""The plan: what the runtime walks, as plain data. Mirrors runtime_bm/plan/plan.h."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bmc.artifacts import TensorInfo

# Limits of the runtime, checked against plan_abi.json by a test.
ALIGNMENT = 64
MAX_BINDINGS = 32
MAX_RANK = 8
FLAG_BARRIER = 1


class Region(enum.IntEnum):
    """bm_plan_binding_t.region."""

    ARENA = 0
    WEIGHTS = 1


class CommandKind(enum.IntEnum):
    """bm_plan_command_t.kind."""

    DISPATCH = 0
    FILL = 1
    COPY = 2


@dataclass(frozen=True, slots=True)
class Binding:
    """A byte range of the arena or of the weights."""

    region: Region
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Command:
    """One step; see plan.h for what bindings and constants mean for each kind."""

    kind: CommandKind
    barrier: bool
    ordinal: int
    workgroups: tuple[int, int, int]
    constants: tuple[int, ...]
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A model input or output and where it lies in the arena."""

    info: TensorInfo
    offset: int


@dataclass(frozen=True, slots=True)
class Export:
    name: str
    constant_count: int
    binding_count: int


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
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def align(offset: int) -> int:
    """Rounds up to ALIGNMENT."""
    return (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


# sizeof on 64-bit targets, checked against runtime_bm/plan/plan_abi.json by a test.
PLAN_STRUCT_BYTES = 152
EXPORT_STRUCT_BYTES = 16
COMMAND_STRUCT_BYTES = 28
BINDING_STRUCT_BYTES = 12
TENSOR_STRUCT_BYTES = 32
