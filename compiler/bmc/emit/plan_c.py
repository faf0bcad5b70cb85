"""Plan -> plan.c and plan.h (runtime_bm/plan/plan.h describes the structs).

Compiled with BM_KERNELS_LOADED the model carries its kernels as an ELF that the runtime loads into
RAM when it starts; otherwise they are prelinked and run in place (see kernels_asm).
"""

from __future__ import annotations

from bmc import plan
from bmc.emit import c_text
from bmc.kernels import Kernels
from bmc.plan import Plan, Tensor


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
        f"  {prefix}_INPUT_COUNT = {len(model.inputs)},\n"
        f"  {prefix}_OUTPUT_COUNT = {len(model.outputs)},\n"
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
            f".flags = {plan.FLAG_BARRIER if command.barrier else 0}",
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
    text = f'/* {c_text.BANNER} */\n#include "plan.h"\n\n'
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
        "static const bm_plan_binding_t k_bindings",
        (
            f"{{.region = {int(b.region)}, .offset = {b.offset}u, .length = {b.length}u}}"
            for b in bindings
        ),
    )
    text += c_text.packed_array("static const uint32_t k_constants", constants)
    text += _tensors("input", model.inputs) + _tensors("output", model.outputs)
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
    ):
        fields.append(f".{table} = {f'k_{table}' if items else '0'}")
        fields.append(f".{table[:-1]}_count = {len(items)}")
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
