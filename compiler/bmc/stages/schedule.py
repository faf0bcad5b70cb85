"""Stage: host program -> plan. Everything gets its place in the arena or in the weights."""

from __future__ import annotations

from collections.abc import Callable

from bmc import plan
from bmc.artifacts import ImportedModel, TensorInfo
from bmc.dtype import DType
from bmc.errors import BmcError, InternalError
from bmc.host_program import Command, Copy, Dispatch, HostProgram, Span, StorageKind, View
from bmc.kernels import Kernels
from bmc.plan import Binding, CommandKind, Plan, Region, Tensor
from bmc.stages.weights import PackedWeights
from bmc.target import Target

_MAX_BYTES = (1 << 32) - 1


def build(
    name: str,
    target: Target,
    model: ImportedModel,
    program: HostProgram,
    kernels: Kernels | None,
    weights: PackedWeights,
) -> Plan:
    """Returns the plan; `kernels` is None for a program that launches none.

    Inputs and outputs keep their places for the whole run, so that a caller may run again without
    setting unchanged inputs. Slabs whose lives do not overlap share memory. An output that is not in a
    slab of its own (the model returns an input, a constant or one tensor twice) is copied at the end.
    """
    _check_signature(model.inputs, program.inputs)
    _check_signature(model.outputs, program.outputs)
    inputs, outputs = model.inputs, model.outputs
    arena = _Arena()
    input_offsets = [arena.append(info.byte_count) for info in inputs]
    in_place = _in_place_outputs(program)
    output_offsets = {
        index: arena.append(info.byte_count)
        for index, info in enumerate(outputs)
        if index not in in_place
    }
    slab_offsets = _place_slabs(program, arena)
    for index in in_place:
        span = program.outputs[index].span
        output_offsets[index] = slab_offsets[span.storage.index] + span.offset

    def bind(span: Span) -> Binding:
        storage = span.storage
        if storage.kind is StorageKind.CONSTANT:
            return Binding(
                Region.WEIGHTS, weights.table[storage.index].offset + span.offset, span.length
            )
        offset = (input_offsets if storage.kind is StorageKind.INPUT else slab_offsets)[
            storage.index
        ]
        return Binding(Region.ARENA, offset + span.offset, span.length)

    ordinals = (
        {export.name: ordinal for ordinal, export in enumerate(kernels.exports)} if kernels else {}
    )
    commands = [_command(command, ordinals, bind) for command in program.commands]
    for index, view in enumerate(program.outputs):
        if index not in in_place:
            target_binding = Binding(Region.ARENA, output_offsets[index], view.span.length)
            bindings = (bind(view.span), target_binding)
            commands.append(plan.Command(CommandKind.COPY, True, 0, (0, 0, 0), (), bindings))
    result = Plan(
        name=name,
        isa_bits=target.isa_bits,
        vlen_bits=target.vlen_bits,
        arena_bytes=arena.size,
        weights_bytes=len(weights.data),
        exports=tuple(
            plan.Export(e.name, e.constant_count, e.binding_count)
            for e in (kernels.exports if kernels else ())
        ),
        commands=tuple(commands),
        inputs=tuple(
            Tensor(info, offset) for info, offset in zip(inputs, input_offsets, strict=True)
        ),
        outputs=tuple(Tensor(info, output_offsets[index]) for index, info in enumerate(outputs)),
    )
    verify(result)
    return result


class _Arena:
    """Hands out aligned, exclusive places one after the other."""

    def __init__(self) -> None:
        self.size = 0

    def append(self, length: int) -> int:
        offset = self.size
        self.size = plan.align(self.size + length)
        return offset


def _check_signature(declared: tuple[TensorInfo, ...], compiled: tuple[View, ...]) -> None:
    """IREE may call i8 what the model calls u8, and nothing else."""

    def form(dtype: DType, shape: tuple[int, ...]) -> tuple[int, bool, tuple[int, ...]]:
        return dtype.byte_count, dtype.is_float, shape

    wanted = [form(info.dtype, info.shape) for info in declared]
    if [form(view.dtype, view.shape) for view in compiled] != wanted:
        views = ", ".join("x".join(map(str, (*v.shape, v.dtype.name.lower()))) for v in compiled)
        raise BmcError(
            "bad-signature",
            f"the model declares ({', '.join(info.describe() for info in declared)}) but was"
            f" compiled to ({views})",
        )


def _in_place_outputs(program: HostProgram) -> set[int]:
    """Outputs that lie alone, aligned, in memory the program allocated."""
    taken: set[Span] = set()
    result = set()
    for index, view in enumerate(program.outputs):
        span = view.span
        if (
            span.storage.kind is StorageKind.SLAB
            and span.offset % plan.ALIGNMENT == 0
            and span not in taken
        ):
            taken.add(span)
            result.add(index)
    return result


def _place_slabs(program: HostProgram, arena: _Arena) -> list[int]:
    """First fit, largest first, over the lives of slabs; slabs that hold outputs live for ever."""
    base = arena.size
    forever = {
        view.span.storage.index
        for view in program.outputs
        if view.span.storage.kind is StorageKind.SLAB
    }
    lives = [
        (0, len(program.commands) + 1) if index in forever else (slab.first, slab.end)
        for index, slab in enumerate(program.slabs)
    ]
    offsets: dict[int, int] = {}
    for index in sorted(range(len(program.slabs)), key=lambda i: (-program.slabs[i].length, i)):
        length = program.slabs[index].length
        first, end = lives[index]
        offset = base
        for other in sorted(offsets, key=lambda i: offsets[i]):
            overlaps_in_time = lives[other][0] < end and first < lives[other][1]
            other_end = offsets[other] + program.slabs[other].length
            if overlaps_in_time and offsets[other] < offset + length and offset < other_end:
                offset = plan.align(other_end)
        offsets[index] = offset
        arena.size = max(arena.size, plan.align(offset + length))
    return [offsets[index] for index in range(len(program.slabs))]


def _command(
    command: Command, ordinals: dict[str, int], bind: Callable[[Span], Binding]
) -> plan.Command:
    bindings = tuple(bind(span) for span in command.spans)
    if isinstance(command, Dispatch):
        if command.function not in ordinals:
            raise InternalError(f"the kernels do not export {command.function}")
        ordinal = ordinals[command.function]
        return plan.Command(
            CommandKind.DISPATCH,
            command.barrier,
            ordinal,
            command.workgroups,
            command.constants,
            bindings,
        )
    if isinstance(command, Copy):
        return plan.Command(CommandKind.COPY, command.barrier, 0, (0, 0, 0), (), bindings)
    pattern, pattern_bytes = command.pattern, command.pattern_bytes
    if pattern_bytes == 8:
        if pattern >> 32 != pattern & 0xFFFFFFFF:
            raise BmcError(
                "unsupported-host-op", "the host program fills memory with an 8-byte pattern"
            )
        pattern, pattern_bytes = pattern & 0xFFFFFFFF, 4
    return plan.Command(
        CommandKind.FILL, command.barrier, 0, (0, 0, 0), (pattern, pattern_bytes), bindings
    )


def verify(result: Plan) -> None:
    """Checks a plan independently of how it was made, as the runtime will.

    Raises:
      BmcError: the model is beyond what the runtime's tables can hold.
      InternalError: a binding is out of range or misaligned, or an ordinal or count is wrong.
    """
    if max(result.arena_bytes, result.weights_bytes) > _MAX_BYTES:
        raise BmcError("too-large", "the model needs more than 4 GiB of arena or weights")
    sizes = {Region.ARENA: result.arena_bytes, Region.WEIGHTS: result.weights_bytes}
    for tensor in (*result.inputs, *result.outputs):
        if len(tensor.info.shape) > plan.MAX_RANK:
            raise BmcError(
                "too-large", f"{tensor.info.describe()} has more than {plan.MAX_RANK} dimensions"
            )
    for index, command in enumerate(result.commands):
        if len(command.bindings) > plan.MAX_BINDINGS:
            name = result.exports[command.ordinal].name
            raise BmcError("too-large", f"kernel {name} has more than {plan.MAX_BINDINGS} buffers")
        for binding in command.bindings:
            if binding.offset < 0 or binding.offset + binding.length > sizes[binding.region]:
                raise InternalError(
                    f"command {index} is bound outside the {binding.region.name.lower()}"
                )
        if command.kind is CommandKind.DISPATCH:
            export = result.exports[command.ordinal]
            counts = (len(command.constants), len(command.bindings))
            if counts != (export.constant_count, export.binding_count):
                raise InternalError(
                    f"command {index} passes {counts} constants and bindings to {export}"
                )
            if any(binding.offset % plan.ALIGNMENT for binding in command.bindings):
                raise InternalError(
                    f"command {index} has a binding that is not aligned to {plan.ALIGNMENT}"
                )
    for tensor in (*result.inputs, *result.outputs):
        if (
            tensor.offset % plan.ALIGNMENT
            or tensor.offset + tensor.info.byte_count > result.arena_bytes
        ):
            raise InternalError(f"tensor {tensor.info.name} is misplaced at {tensor.offset}")
