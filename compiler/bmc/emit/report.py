"""report.json: what was built, from what, how large; no times, no absolute paths."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict
from typing import Any

from bmc import artifacts
from bmc.artifacts import ImportedModel
from bmc.elf.kernels import Kernels
from bmc.emit import c_text, gain
from bmc.facts.operands import Kernel
from bmc.names import op_signature
from bmc.plan import tables
from bmc.plan.calls import LinkedCall
from bmc.plan.tables import Access, CommandKind, Plan
from bmc.plan.weights import PackedWeights
from bmc.rewrites.context import Config
from bmc.target import Target

FORMAT_VERSION = 5


def report(
    *,
    model: ImportedModel,
    target: Target,
    result: Plan,
    kernels: Kernels | None,
    weights: PackedWeights,
    configs: tuple[Config, ...],
    planes: int,
    operands: dict[str, Kernel],
    golden_bytes: int,
    liveness_bound_bytes: int,
    macs: dict[str, int],
    flags: tuple[str, ...],
    versions: dict[str, str],
    int8: dict[str, Any] | None,
    outputs: dict[str, str],
) -> dict[str, Any]:
    """Returns the report as JSON data.

    Args:
      planes: how many shapes of convolutions have planes as results.
      operands: what the bindings of each dispatch function hold.
      liveness_bound_bytes: least arena any schedule in this order could do with.
      macs: multiply-accumulates of every entry point.
      flags: of iree-compile.
      int8: what plan/audit.py found, None for a model that is not int8.
      outputs: sha256 of each output file by name.
    """
    dispatches = _dispatches(result, kernels, configs, operands)
    if int8 is not None:
        int8 = {**int8, "note": gain.note(dispatches, int8["float_parts"])}
    return {
        "format_version": FORMAT_VERSION,
        "name": result.name,
        "source": model.source,
        "frontend": model.frontend,
        "isa": target.isa,
        "vlen_bits": target.vlen_bits,
        "flash": {
            **_kernels_bytes(kernels),
            "weights_bytes": len(weights.data),
            "golden_bytes": golden_bytes,
            "weights_distinct_bytes": weights.distinct_bytes,
            "plan_bytes": _plan_bytes(result),
        },
        "arena": {
            "bytes": result.arena_bytes,
            "liveness_bound_bytes": liveness_bound_bytes,
            "input_bytes": _bytes(result.inputs),
            "output_bytes": _bytes(result.outputs),
        },
        "state_bytes": result.state_bytes,
        "macs": macs,
        "parameters": sum(math.prod(parameter.shape) for parameter in model.parameters),
        "entries": [_entry(entry) for entry in result.entries],
        "classes": list(model.classes),
        "planes": planes,
        "dispatches": dispatches,
        "commands": _commands(result),
        "weights": [asdict(weight) for weight in weights.table.values()],
        "golden": _golden(model),
        "int8": int8,
        "kernels_library": kernels.library if kernels else 0,
        "kernels_arch": kernels.arch if kernels else "",
        "iree_flags": list(flags),
        "versions": {**model.versions, **versions},
        "sha256": {"model": artifacts.sha256_file(model.mlir), **outputs},
    }


def _kernels_bytes(kernels: Kernels | None) -> dict[str, int]:
    return {
        "kernels_bytes": len(kernels.image) if kernels else 0,
        "kernels_text_bytes": sum(end - start for start, end in kernels.text) if kernels else 0,
        "kernels_elf_bytes": len(kernels.elf) if kernels else 0,
    }


def _golden(model: ImportedModel) -> dict[str, Any]:
    return {
        "source": model.golden.source,
        "second_reference": model.second_reference,
        "cases": len(model.golden.inputs),
        "policies": [
            {"kind": type(policy).__name__, **asdict(policy)} for policy in model.golden.policies
        ],
        "labels": model.golden.labels is not None,
        "framework_correct": model.golden.framework_correct,
    }


def _entry(entry: tables.Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "first_command": entry.first_command,
        "command_count": entry.command_count,
        "driver": bool(entry.driver),
        "inputs": [_tensor(tensor) for tensor in entry.inputs],
        "outputs": [_tensor(tensor) for tensor in entry.outputs],
        "tensors": [_life(entry, life) for life in entry.lives],
    }


def _life(entry: tables.Entry, life: tables.Life) -> dict[str, Any]:
    """One tensor of the arena: it is alive in the commands [first_command, end_command) of the plan."""
    return {
        "offset": life.offset,
        "bytes": life.length,
        "first_command": entry.first_command + life.first,
        "end_command": entry.first_command + life.end,
    }


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


def _tensor(tensor: tables.Tensor) -> dict[str, Any]:
    info = tensor.info
    return {
        "name": info.name,
        "dtype": info.dtype.name.lower(),
        "shape": info.shape,
        "offset": tensor.offset,
        "bytes": info.byte_count,
    }


def _dispatches(
    result: Plan,
    kernels: Kernels | None,
    configs: tuple[Config, ...],
    operands: dict[str, Kernel],
) -> list[dict[str, Any]]:
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
    return [
        {
            "ordinal": ordinal,
            "name": export.name,
            "op": op_signature(export.name),
            "bindings": export.binding_count,
            "constants": export.constant_count,
            "uses": uses[ordinal],
            "source": operands[export.name].source,
            "address": addresses[export.name],
            "macs": operands[export.name].macs,
            "accumulator": operands[export.name].accumulator,
            "operands": [asdict(operand) for operand in operands[export.name].operands],
            "root": (config := by_function.get(export.name, untiled)).root,
            "tiles": config.applied,
            "iree_tiles": config.default,
            "tiles_by": config.origin,
            "own_kernel": config.own,
            "call": _call(export.call),
            "tuned": config.tuned,
            "digest": config.digest,
            "stale": config.stale,
            **_proposals(config),
        }
        for ordinal, export in enumerate(result.exports)
    ]


def _call(call: LinkedCall | None) -> dict[str, Any] | None:
    """Returns which library computes a dispatch, and its function; None if a kernel does."""
    if call is None:
        return None
    library, made = call.taken.library, call.taken.call
    return {"library": library.name, "function": made.function, "wait": made.wait}


def _proposals(config: Config) -> dict[str, Any]:
    """Returns entries of tuning.json that are worth trying with their estimated instructions, if that was asked."""
    if not config.proposals:
        return {}
    found = [{"entry": p.choice.described(), "cost": round(p.cost)} for p in config.proposals]
    return {"proposals": found, "replaceable": config.replaceable}


def _commands(result: Plan) -> list[dict[str, Any]]:
    return [
        {
            "kind": command.kind.name.lower(),
            "function": result.exports[command.export_index].name
            if command.kind is CommandKind.DISPATCH
            else "",
            "ordinal": command.export_index,
            "workgroups": command.workgroups,
            "bytes": sum(binding.length for binding in command.bindings),
            "layer": command.layer,
            "bindings": [_binding(binding) for binding in command.bindings],
        }
        for command in result.commands
    ]


def _binding(binding: tables.Binding) -> dict[str, Any]:
    return {
        "region": binding.region.name.lower(),
        "offset": binding.offset,
        "bytes": binding.length,
        "reads": Access.READ in binding.access,
        "writes": Access.WRITE in binding.access,
    }
