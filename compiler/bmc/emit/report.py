"""Makes the report of a model (bmc/report.py)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict
from typing import Any

from bmc import artifacts, records
from bmc.artifacts import ImportedModel
from bmc.elf.kernels import Kernels
from bmc.emit import c_text, gain
from bmc.facts.operands import Kernel
from bmc.names import op_signature
from bmc.plan import tables
from bmc.plan.calls import LinkedCall
from bmc.plan.tables import Access, CommandKind, Plan, Region
from bmc.plan.weights import PackedWeights
from bmc.report import (
    FORMAT_VERSION,
    Arena,
    Binding,
    Call,
    Command,
    Dispatch,
    Entry,
    Flash,
    Golden,
    Int8,
    Life,
    Model,
    Operand,
    Policy,
    Proposal,
    Tensor,
    Tiles,
    Weight,
)
from bmc.rewrites.context import Config
from bmc.rewrites.iree.tiles.root import Levels
from bmc.target import Target


def report(
    *,
    model: ImportedModel,
    target: Target,
    result: Plan,
    kernels: Kernels | None,
    weights: PackedWeights,
    configs: tuple[Config, ...],
    planes: int,
    ram_bytes: int,
    operands: dict[str, Kernel],
    golden_bytes: int,
    liveness_bound_bytes: int,
    macs: dict[str, int],
    flags: tuple[str, ...],
    versions: dict[str, str],
    int8: dict[str, Any] | None,
    outputs: dict[str, str],
) -> Model:
    """Returns the report.

    Args:
      planes: how many shapes of convolutions have planes as results.
      ram_bytes: what the model needs.
      operands: what the bindings of each dispatch function hold.
      liveness_bound_bytes: least arena any schedule in this order could do with.
      macs: multiply-accumulates of every entry point.
      flags: of iree-compile.
      int8: what plan/audit.py found, None for a model that is not int8.
      outputs: sha256 of each output file by name.
    """
    dispatches = _dispatches(result, kernels, configs, operands)
    return Model(
        format_version=FORMAT_VERSION,
        name=result.name,
        source=model.source,
        frontend=model.frontend,
        isa=target.isa,
        vlen_bits=target.vlen_bits,
        flash=Flash(
            kernels_bytes=len(kernels.image) if kernels else 0,
            kernels_text_bytes=sum(end - start for start, end in kernels.text) if kernels else 0,
            kernels_elf_bytes=len(kernels.elf) if kernels else 0,
            weights_bytes=len(weights.data),
            golden_bytes=golden_bytes,
            weights_distinct_bytes=weights.distinct_bytes,
            plan_bytes=_plan_bytes(result),
        ),
        arena=Arena(
            bytes=result.arena_bytes,
            liveness_bound_bytes=liveness_bound_bytes,
            input_bytes=_bytes(result.inputs),
            output_bytes=_bytes(result.outputs),
        ),
        state_bytes=result.state_bytes,
        fast_bytes=result.fast_bytes,
        ram_bytes=ram_bytes,
        macs=macs,
        parameters=sum(math.prod(parameter.shape) for parameter in model.parameters),
        entries=tuple(map(_entry, result.entries)),
        classes=tuple(model.classes),
        planes=planes,
        dispatches=dispatches,
        commands=_commands(result),
        weights=tuple(records.decode(Weight, asdict(each)) for each in weights.table.values()),
        golden=_golden(model),
        int8=None
        if int8 is None
        else Int8(**int8, note=gain.note(dispatches, int8["float_parts"])),
        kernels_library=kernels.library if kernels else 0,
        kernels_arch=kernels.arch if kernels else "",
        iree_flags=flags,
        versions={**model.versions, **versions},
        sha256={"model": artifacts.sha256_file(model.mlir), **outputs},
    )


def _golden(model: ImportedModel) -> Golden:
    policies = ({"kind": type(each).__name__, **asdict(each)} for each in model.golden.policies)
    return Golden(
        source=model.golden.source,
        second_reference=model.second_reference,
        cases=len(model.golden.inputs),
        policies=records.decode(tuple[Policy, ...], list(policies)),
        labels=model.golden.labels is not None,
        framework_correct=model.golden.framework_correct,
    )


def _entry(entry: tables.Entry) -> Entry:
    return Entry(
        name=entry.name,
        first_command=entry.first_command,
        command_count=entry.command_count,
        driver=bool(entry.driver),
        inputs=tuple(map(_tensor, entry.inputs)),
        outputs=tuple(map(_tensor, entry.outputs)),
        tensors=tuple(_life(entry, life) for life in entry.lives),
    )


def _life(entry: tables.Entry, life: tables.Life) -> Life:
    """One tensor: it is alive in the commands [first_command, end_command) of the plan."""
    return Life(
        region="fast" if life.region is Region.FAST else "arena",
        offset=life.offset,
        bytes=life.length,
        first_command=entry.first_command + life.first,
        end_command=entry.first_command + life.end,
    )


def _bytes(tensors: tuple[tables.Tensor, ...]) -> int:
    return sum(tensor.info.byte_count for tensor in tensors)


def _plan_bytes(result: Plan) -> int:
    """Size of the plan's header, tables and strings, see plan_abi.json."""
    of = tables.STRUCT_BYTES
    tensors = (*result.inputs, *result.outputs)
    bindings = sum(len(command.bindings) for command in result.commands)
    constants = sum(len(command.constants) for command in result.commands)
    return (
        of["bm_plan_header_t"]
        + of["bm_plan_export_t"] * len(result.exports)
        + of["bm_plan_command_t"] * len(result.commands)
        + of["bm_plan_binding_t"] * bindings
        + of["bm_plan_entry_t"] * len(result.entries)
        + of["bm_plan_tensor_t"] * len(tensors)
        + 4 * constants
        + 4 * sum(len(tensor.info.shape) for tensor in tensors)
        + sum(map(c_text.string_bytes, result.names))
    )


def _tensor(tensor: tables.Tensor) -> Tensor:
    info = tensor.info
    dtype = info.dtype.name.lower()
    return Tensor(info.name, dtype, tuple(info.shape), tensor.offset, info.byte_count)


def _dispatches(
    result: Plan,
    kernels: Kernels | None,
    configs: tuple[Config, ...],
    operands: dict[str, Kernel],
) -> tuple[Dispatch, ...]:
    """One row per kernel; `uses` counts its launches in one run of the model.

    `tiles` are the tile sizes it was compiled with, chosen by `tiles_by` over IREE's `iree_tiles`; with an
    `own_kernel`, those that it would be compiled with otherwise. `digest` stands for its kernel without tuning.json,
    and a `stale` entry there was made instead of another one.
    `source` is the place in the model that it was made of, and `macs` the multiply-accumulates of one
    launch, whose sums are of type `accumulator`; `address` is where its code starts in kernels.elf.
    """
    by_function = {config.function: config for config in configs}
    untiled = Config("", "", "", {}, {}, "iree")
    addresses = {function.name: function.address for function in kernels.exports} if kernels else {}
    uses = Counter(c.export_index for c in result.commands if c.kind is CommandKind.DISPATCH)
    return tuple(
        Dispatch(
            ordinal=ordinal,
            name=export.name,
            op=op_signature(export.name),
            bindings=export.binding_count,
            constants=export.constant_count,
            uses=uses[ordinal],
            source=(kernel := operands[export.name]).source,
            address=addresses[export.name],
            macs=kernel.macs,
            accumulator=kernel.accumulator,
            operands=tuple(records.decode(Operand, asdict(each)) for each in kernel.operands),
            root=(config := by_function.get(export.name, untiled)).root,
            tiles=_tiles(config.applied),
            iree_tiles=_tiles(config.default),
            tiles_by=config.origin,
            own_kernel=config.own,
            call=_call(export.call),
            tuned=config.tuned,
            digest=config.digest,
            stale=config.stale,
            proposals=_proposals(config),
            replaceable=config.replaceable if config.proposals else None,
            modeled_cycles=config.cycles,
        )
        for ordinal, export in enumerate(result.exports)
    )


def _tiles(levels: Levels) -> Tiles:
    return {level: tuple(sizes) for level, sizes in levels.items()}


def _call(call: LinkedCall | None) -> Call | None:
    """Returns which library computes a dispatch, and its function; None if a kernel does."""
    if call is None:
        return None
    library, made = call.taken.library, call.taken.call
    return Call(library.name, made.function, made.wait)


def _proposals(config: Config) -> tuple[Proposal, ...] | None:
    """Returns entries of tuning.json that are worth trying with their estimated instructions, if that was asked."""
    found = tuple(Proposal(p.choice.described(), round(p.cost)) for p in config.proposals)
    return found or None


def _commands(result: Plan) -> tuple[Command, ...]:
    return tuple(
        Command(
            kind=command.kind.name.lower(),
            function=result.exports[command.export_index].name
            if command.kind is CommandKind.DISPATCH
            else "",
            ordinal=command.export_index,
            workgroups=command.workgroups,
            bytes=sum(binding.length for binding in command.bindings),
            layer=command.layer,
            bindings=tuple(map(_binding, command.bindings)),
        )
        for command in result.commands
    )


def _binding(binding: tables.Binding) -> Binding:
    return Binding(
        region=binding.region.name.lower(),
        offset=binding.offset,
        bytes=binding.length,
        reads=Access.READ in binding.access,
        writes=Access.WRITE in binding.access,
    )
