"""Checks a plan before it is written, as the runtime will before it runs it."""

from __future__ import annotations

from bmc.errors import BmcError, InternalError
from bmc.host.program import ALIGNMENT
from bmc.plan import tables
from bmc.plan.tables import Access, Binding, Command, CommandKind, Plan, Region

_MAX_BYTES = (1 << 32) - 1


def overlap(a: Binding, b: Binding) -> bool:
    """Whether two bindings share a byte."""
    return (
        a.region == b.region and a.offset < b.offset + b.length and b.offset < a.offset + a.length
    )


def depends(command: Command, earlier: Command) -> bool:
    """Whether one of two commands writes what the other one reads or writes."""
    # Where a driver moves a binding to is not known here.
    if command.patches or earlier.patches:
        return True
    return any(_conflict(a, b) for a in command.bindings for b in earlier.bindings)


def _conflict(a: Binding, b: Binding) -> bool:
    return bool((a.access | b.access) & Access.WRITE) and overlap(a, b)


def verify(result: Plan) -> None:
    """Checks a plan without relying on how it was made.

    Raises:
      BmcError: the model is beyond what the runtime's tables can hold.
      InternalError: a binding is out of range or misaligned, or an ordinal or count is wrong.
    """
    sizes = {
        Region.ARENA: result.arena_bytes,
        Region.WEIGHTS: result.weights_bytes,
        Region.STATE: result.state_bytes,
        Region.FAST: result.fast_bytes,
    }
    if max(sizes.values()) > _MAX_BYTES:
        raise BmcError("too-large", "the model needs more than 4 GiB of arena, weights or state")
    for tensor in (*result.inputs, *result.outputs):
        if len(tensor.info.shape) > tables.MAX_RANK:
            raise BmcError(
                "too-large", f"{tensor.info.describe()} has more than {tables.MAX_RANK} dimensions"
            )
    for index, command in enumerate(result.commands):
        if len(command.bindings) > tables.MAX_BINDINGS:
            name = result.exports[command.export_index].name
            raise BmcError(
                "too-large", f"kernel {name} has more than {tables.MAX_BINDINGS} buffers"
            )
        for binding in command.bindings:
            if binding.region is Region.WEIGHTS and binding.access is not Access.READ:
                raise InternalError(f"command {index} writes to the weights")
            if binding.offset < 0 or binding.offset + binding.length > sizes[binding.region]:
                raise InternalError(
                    f"command {index} is bound outside the {binding.region.name.lower()}"
                )
            if ALIGNMENT % binding.alignment or binding.offset % binding.alignment:
                raise InternalError(
                    f"command {index} has a binding that is not aligned to {binding.alignment}"
                )
        if command.kind is CommandKind.COPY and overlap(*command.bindings):
            raise InternalError(f"command {index} copies within what it reads")
        if command.kind is CommandKind.DISPATCH:
            export = result.exports[command.export_index]
            counts = (len(command.constants), len(command.bindings))
            if counts != (export.constant_count, export.binding_count):
                raise InternalError(
                    f"command {index} passes {counts} constants and bindings to {export}"
                )
    for tensor in (*result.inputs, *result.outputs):
        if tensor.offset % ALIGNMENT or tensor.offset + tensor.info.byte_count > result.arena_bytes:
            raise InternalError(f"tensor {tensor.info.name} is misplaced at {tensor.offset}")
