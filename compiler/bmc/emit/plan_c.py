"""Plan -> plan.c and plan.h (runtime_bm/plan/plan.h describes the structs).

Compiled with BM_KERNELS_LOADED the model carries its kernels as an ELF that the runtime loads into
RAM when it starts; otherwise they are prelinked and run in place (see kernels_asm).
"""

from __future__ import annotations

from bmc.elf.kernels import Kernels
from bmc.emit import c_text, driver_c
from bmc.plan import tables
from bmc.plan.tables import BindingPatch, ConstantPatch, Entry, Plan, Tensor


def header(model: Plan, kernels: Kernels | None) -> str:
    """Returns plan.h: the plan's declaration and its sizes as constants.

    <NAME>_CODE_BYTES is the code memory that bm_model_init needs if the kernels are loaded.
    """
    guard = f"BM_GENERATED_{model.name.upper()}_PLAN_H_"
    prefix = model.name.upper()
    return (
        f"/* {c_text.BANNER} */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        '#include "runtime_bm/plan/plan.h"\n\n'
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        "enum {\n"
        f"  {prefix}_ARENA_BYTES = {model.arena_bytes},\n"
        f"  {prefix}_CODE_BYTES = {kernels.loaded_bytes if kernels else 0},\n"
        f"  {prefix}_STATE_BYTES = {model.state_bytes},\n"
        f"  {prefix}_INPUT_COUNT = {len(model.entries[0].inputs)},\n"
        f"  {prefix}_OUTPUT_COUNT = {len(model.entries[0].outputs)},\n"
        "};\n\n"
        f"extern const bm_plan_t {model.name}_plan;\n\n"
        "#ifdef __cplusplus\n}\n#endif\n\n"
        f"#endif /* {guard} */\n"
    )


def source(model: Plan, kernels: Kernels | None) -> str:
    """Returns plan.c with the tables; kernels.S and weights.S define what it declares extern."""
    name = model.name
    first_binding = 0
    first_constant = 0
    commands: list[str] = []
    for command in model.commands:
        fields = [
            f".kind = {int(command.kind)}",
            f".flags = {tables.FLAG_BARRIER if command.barrier else 0}",
            f".ordinal = {command.ordinal}",
            f".binding_count = {len(command.bindings)}",
            f".constant_count = {len(command.constants)}",
            f".workgroup_count = {{{', '.join(map(str, command.workgroups))}}}",
            f".first_binding = {first_binding}",
            f".first_constant = {first_constant}",
        ]
        commands.append("{" + ", ".join(fields) + "}")
        first_binding += len(command.bindings)
        first_constant += len(command.constants)
    bindings = [b for command in model.commands for b in command.bindings]
    constants = [word for command in model.commands for word in command.constants]
    patches = [type(patch) for command in model.commands for patch in command.patches]
    driven = [index for index, entry in enumerate(model.entries) if entry.driver]
    text = f'/* {c_text.BANNER} */\n#include "plan.h"\n\n'
    if driven:
        text += driver_c.INCLUDE + "\n"
    if model.weights_bytes:
        text += f"extern const uint8_t {name}_weights[];\n"
    if kernels:
        text += f"extern const uint8_t {name}_kernels_elf[];\n"
        text += f"extern const void *{name}_library_query(uint32_t max_version, const void *environment);\n"
    text += "\n"
    text += c_text.array(
        "static const bm_plan_export_t k_exports",
        (
            f"{{.name = {c_text.string(e.name)}, .binding_count = {e.binding_count},"
            f" .constant_count = {e.constant_count}}}"
            for e in model.exports
        ),
    )
    text += c_text.array("static const bm_plan_command_t k_commands", commands)
    text += c_text.array(
        f"static {'' if BindingPatch in patches else 'const '}bm_plan_binding_t k_bindings",
        (
            f"{{.region = {int(b.region)}, .offset = {b.offset}u, .length = {b.length}u}}"
            for b in bindings
        ),
    )
    text += c_text.packed_array(
        f"static {'' if ConstantPatch in patches else 'const '}uint32_t k_constants", constants
    )
    text += _tensors("input", model.inputs) + _tensors("output", model.outputs)
    text += "".join(driver_c.source(model, index) for index in driven)
    text += c_text.array("static const bm_plan_entry_t k_entries", _entries(model.entries))
    if model.state_bytes:
        text += f"static uint8_t k_state[{model.state_bytes}] __attribute__((aligned(64)));\n\n"
    fields = [
        ".abi_version = BM_PLAN_ABI_VERSION",
        f".isa = {model.isa_bits}",
        f".vlen_bits = {model.vlen_bits}",
        f".arena_bytes = {model.arena_bytes}u",
        f".weights_bytes = {model.weights_bytes}u",
        f".name = {c_text.string(name)}",
        f".weights = {f'{name}_weights' if model.weights_bytes else '0'}",
    ]
    for table, items in (
        ("exports", model.exports),
        ("commands", model.commands),
        ("bindings", bindings),
        ("constants", constants),
        ("inputs", model.inputs),
        ("outputs", model.outputs),
        ("entries", model.entries),
    ):
        fields.append(f".{table} = {f'k_{table}' if items else '0'}")
        singular = table.removesuffix("s") if table != "entries" else "entry"
        fields.append(f".{singular}_count = {len(items)}")
    fields += [
        f".state_bytes = {model.state_bytes}u",
        f".state = {'k_state' if model.state_bytes else '0'}",
        f".reset_count = {model.reset_count}",
    ]
    return (
        text
        + f"const bm_plan_t {name}_plan = {{\n"
        + "".join(f"    {field},\n" for field in fields)
        + (_kernels(name, kernels) if kernels else "")
        + "};\n"
    )


def _kernels(name: str, kernels: Kernels) -> str:
    return (
        "#ifdef BM_KERNELS_LOADED\n"
        f"    .kernels_elf = {name}_kernels_elf,\n"
        f"    .kernels_elf_bytes = {len(kernels.elf)}u,\n"
        "#else\n"
        f"    .library_query = {name}_library_query,\n"
        "#endif\n"
    )


def _entries(entries: tuple[Entry, ...]) -> list[str]:
    rows = []
    first_input = first_output = 0
    for index, entry in enumerate(entries):
        driver = driver_c.function_name(index) if entry.driver else "0"
        rows.append(
            f"{{.name = {c_text.string(entry.name)}, .driver = {driver},"
            f" .first_command = {entry.first_command}, .command_count = {entry.command_count},"
            f" .first_input = {first_input}, .input_count = {len(entry.inputs)},"
            f" .first_output = {first_output}, .output_count = {len(entry.outputs)}}}"
        )
        first_input += len(entry.inputs)
        first_output += len(entry.outputs)
    return rows


def _tensors(role: str, tensors: tuple[Tensor, ...]) -> str:
    text = ""
    for index, tensor in enumerate(tensors):
        if tensor.info.shape:
            text += f"static const uint32_t k_{role}{index}_shape[] = {{{', '.join(map(str, tensor.info.shape))}}};\n"
    rows = (
        f"{{.name = {c_text.string(tensor.info.name)},"
        f" .shape = {f'k_{role}{index}_shape' if tensor.info.shape else '0'},"
        f" .dtype = {int(tensor.info.dtype)}, .rank = {len(tensor.info.shape)},"
        f" .offset = {tensor.offset}u, .length = {tensor.info.byte_count}u}}"
        for index, tensor in enumerate(tensors)
    )
    return text + c_text.array(f"static const bm_plan_tensor_t k_{role}s", rows)
