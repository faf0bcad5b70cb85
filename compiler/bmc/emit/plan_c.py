"""Writes plan.c. runtime_bm/plan/plan.h describes the structs.

Compiled with BM_KERNELS_LOADED, the model carries its kernels as an ELF that the runtime loads into RAM
when it starts. Otherwise they are prelinked and run in place (see kernels_asm).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bmc.elf.kernels import Kernels
from bmc.emit import c_text, calls_c, driver_c, symbols
from bmc.plan import tables
from bmc.plan.tables import BindingPatch, Command, ConstantPatch, Entry, Export, Plan, Tensor


def source(model: Plan, kernels: Kernels | None) -> str:
    """Returns plan.c with the tables; kernels.S and weights.S define what it declares extern."""
    name = model.name
    driven = [index for index, entry in enumerate(model.entries) if entry.driver]
    text = f"/* {c_text.BANNER} */\n{calls_c.includes(model.calls)}"
    text += '#include "runtime_bm/plan/plan.h"\n\n'
    if driven:
        text += driver_c.INCLUDE + "\n"
    if model.weights_bytes:
        text += f"extern const uint8_t {symbols.weights(name)}[];\n"
    if kernels:
        text += f"extern const uint8_t {symbols.kernels(name)}[];\n"
        text += f"extern const uint8_t {symbols.kernels_elf(name)}[];\n"
        query = symbols.library_query(name)
        text += f"extern const void *{query}(uint32_t max_version, const void *environment);\n"
    tables_ = _tables(model)
    changed = [table for table in tables_ if table.is_changed]
    text += "\n" + _constant_tables(model, tables_)
    for table in changed:
        text += c_text.array(f"static {table.row_type} k_{table.name}", table.lines)
    wait = calls_c.wait(model.calls)
    text += wait + "".join(driver_c.source(model, index) for index in driven)
    drivers = (driver_c.function_name(index) for index in driven)
    text += c_text.array("static const bm_plan_driver_t k_drivers", drivers)
    if kernels:
        text += _EXECUTABLE.format(
            elf=symbols.kernels_elf(name),
            elf_bytes=len(kernels.elf),
            library_query=symbols.library_query(name),
        )
    text += calls_c.source(model.calls, len(model.exports))
    if model.state_bytes:
        text += f"static uint8_t k_state[{model.state_bytes}] __attribute__((aligned(64)));\n\n"
    if model.fast_bytes:
        text += _FAST.format(model.fast_bytes)
    text += _checks(model, kernels)
    fields = [".header = &k_tables.header"]
    if model.weights_bytes:
        fields.append(f".weights = {symbols.weights(name)}")
    if model.state_bytes:
        fields.append(".state = k_state")
    if model.fast_bytes:
        fields.append(".fast = k_fast")
    if kernels:
        fields.append(".executables = &k_executable")
    if driven:
        fields.append(".drivers = k_drivers")
    fields += [f".{table.name} = k_{table.name}" for table in changed]
    fields.append(".checks = k_checks")
    if model.calls:
        fields += [".functions = k_functions", ".table = k_table"]
    if wait:
        fields.append(f".wait = {calls_c.WAIT}")
    plan = f"const bm_plan_t {symbols.plan(name)}"
    return text + f"extern {plan};\n{plan} = {{\n{_lines(fields, 4)}}};\n"


_FAST = """static uint8_t k_fast[{}] __attribute__((section(".bss.bm_fast"), aligned(64)));

"""


_EXECUTABLE = """static const bm_plan_executable_t k_executable = {{
#ifdef BM_KERNELS_LOADED
    .elf = {elf},
    .elf_bytes = {elf_bytes}u,
#else
    .library_query = {library_query},
#endif
}};

"""


_CHECKED_KERNELS = """#ifdef BM_KERNELS_LOADED
    {loaded},
#else
    {prelinked},
#endif
"""


def _checks(model: Plan, kernels: Kernels | None) -> str:
    """Returns the ranges over which tools/actions/seal makes checks after linking (runtime_bm/base/check.h)."""
    rows = (
        "    [BM_PART_PLAN] = {.start = (const uint8_t *)&k_tables,"
        " .end = (const uint8_t *)(&k_tables + 1)},\n"
    )
    if kernels:
        rows += _CHECKED_KERNELS.format(
            loaded=_check("KERNELS", symbols.kernels_elf(model.name), len(kernels.elf)),
            prelinked=_check("KERNELS", symbols.kernels(model.name), len(kernels.image)),
        )
    if model.weights_bytes:
        row = _check("WEIGHTS", symbols.weights(model.name), model.weights_bytes)
        rows += f"    {row},\n"
    return f"static const bm_check_t k_checks[BM_PART_COUNT] BM_CHECKS = {{\n{rows}}};\n\n"


def _check(part: str, symbol: str, byte_count: int) -> str:
    """The row of a file in the image, which is padded to whole words."""
    end = -(-byte_count // c_text.WORD_BYTES) * c_text.WORD_BYTES
    return f"[BM_PART_{part}] = {{.start = {symbol}, .end = {symbol} + {end}u}}"


@dataclass(frozen=True)
class _Table:
    """A table of the plan. If drivers change it, it is a variable of its own."""

    name: str
    row_type: str
    rows: tuple[str, ...]
    is_changed: bool = False

    @property
    def member(self) -> str:
        return f"{self.row_type} {self.name}[{len(self.rows)}];"

    @property
    def lines(self) -> list[str]:
        """The rows, several numbers on a line."""
        if self.row_type != "uint32_t":
            return list(self.rows)
        return [", ".join(self.rows[i : i + 8]) for i in range(0, len(self.rows), 8)]

    @property
    def place(self) -> str:
        """The table's row in the header."""
        offset = "0" if self.is_changed else f"offsetof(tables_t, {self.name})"
        return f".{self.name} = {{{offset}, {len(self.rows)}}}"


def _lines(items: Iterable[str], indent: int) -> str:
    return "".join(f"{' ' * indent}{item},\n" for item in items)


def _constant_tables(model: Plan, tables_: list[_Table]) -> str:
    """Returns the header and the tables that follow it, a struct without pointers."""
    constant = [table for table in tables_ if not table.is_changed]
    offsets = _offsets(model)
    length = sum(map(c_text.string_bytes, offsets))
    # The C compiler ends the last one.
    strings = ' "\\0"\n        '.join(map(c_text.string, offsets))
    header = [
        ".abi_version = BM_PLAN_ABI_VERSION",
        ".bytes = sizeof(tables_t)",
        f".isa = {model.isa_bits}",
        f".vlen_bits = {model.vlen_bits}",
        f".arena_bytes = {model.arena_bytes}u",
        f".weights_bytes = {model.weights_bytes}u",
        f".state_bytes = {model.state_bytes}u",
        *([f".fast_bytes = {model.fast_bytes}u"] if model.fast_bytes else []),
        f".name = {offsets[model.name]}",
        f".executable_count = {int(bool(model.exports))}",
        f".driver_count = {sum(bool(entry.driver) for entry in model.entries)}",
        f".reset_count = {model.reset_count}",
        *([f".function_count = {len(model.calls)}"] if model.calls else []),
        *(table.place for table in tables_),
        f".strings = {{offsetof(tables_t, strings), {length}}}",
    ]
    members = ["bm_plan_header_t header;", *(table.member for table in constant)]
    members.append(f"char strings[{length}];")
    text = "typedef struct tables_t {\n" + "".join(f"  {member}\n" for member in members)
    text += "} tables_t;\n\nstatic const tables_t k_tables = {\n"
    text += f"    .header = {{\n{_lines(header, 8)}    }},\n"
    for table in constant:
        text += f"    .{table.name} = {{\n{_lines(table.lines, 8)}    }},\n"
    return text + f"    .strings =\n        {strings},\n}};\n\n"


def _offsets(model: Plan) -> dict[str, int]:
    """Where each name begins in the table of strings."""
    offsets: dict[str, int] = {}
    end = 0
    for name in model.names:
        offsets[name] = end
        end += c_text.string_bytes(name)
    return offsets


def _tables(model: Plan) -> list[_Table]:
    """Returns the tables that have rows, but for the strings."""
    names = _offsets(model)
    patches = [type(patch) for command in model.commands for patch in command.patches]
    bindings = (
        f"{{.region = {int(b.region)}, .access = {int(b.access)}, .alignment = {b.alignment},"
        f" .offset = {b.offset}u, .length = {b.length}u}}"
        for command in model.commands
        for b in command.bindings
    )
    constants = (f"{word}u" for command in model.commands for word in command.constants)
    exports = (
        f"{{.name = {names[e.name]}, .executable = {executable}, .ordinal = {ordinal},"
        f" .binding_count = {e.binding_count}, .constant_count = {e.constant_count}}}"
        for e, executable, ordinal in _ordinals(model)
    )
    tensors = (*model.inputs, *model.outputs)
    extents = [str(extent) for tensor in tensors for extent in tensor.info.shape]
    rows = _tensors(tensors, names)
    found = [
        _Table("exports", "bm_plan_export_t", tuple(exports)),
        _Table("commands", "bm_plan_command_t", tuple(_commands(model.commands))),
        _Table("bindings", "bm_plan_binding_t", tuple(bindings), BindingPatch in patches),
        _Table("constants", "uint32_t", tuple(constants), ConstantPatch in patches),
        _Table("inputs", "bm_plan_tensor_t", tuple(rows[: len(model.inputs)])),
        _Table("outputs", "bm_plan_tensor_t", tuple(rows[len(model.inputs) :])),
        _Table("extents", "uint32_t", tuple(extents)),
        _Table("entries", "bm_plan_entry_t", tuple(_entries(model.entries, names))),
    ]
    return [table for table in found if table.rows]


def _ordinals(model: Plan) -> Iterator[tuple[Export, str, int]]:
    """Yields every export with the executable that it is in, and its number there."""
    linked = 0
    for ordinal, export in enumerate(model.exports):
        if export.call:
            yield export, "BM_PLAN_LINKED", linked
            linked += 1
        else:
            yield export, "0", ordinal


def _commands(commands: tuple[Command, ...]) -> Iterator[str]:
    first_binding = first_constant = 0
    for command in commands:
        yield (
            f"{{.kind = {int(command.kind)},"
            f" .flags = {tables.FLAG_BARRIER if command.barrier else 0},"
            f" .export_index = {command.export_index},"
            f" .binding_count = {len(command.bindings)},"
            f" .constant_count = {len(command.constants)},"
            f" .workgroup_count = {{{', '.join(map(str, command.workgroups))}}},"
            f" .first_binding = {first_binding}, .first_constant = {first_constant}}}"
        )
        first_binding += len(command.bindings)
        first_constant += len(command.constants)


def _entries(entries: tuple[Entry, ...], names: dict[str, int]) -> Iterator[str]:
    first_input = first_output = driver_count = 0
    for entry in entries:
        driver = str(driver_count) if entry.driver else "BM_PLAN_NO_DRIVER"
        yield (
            f"{{.name = {names[entry.name]}, .driver = {driver},"
            f" .first_command = {entry.first_command}, .command_count = {entry.command_count},"
            f" .first_input = {first_input}, .input_count = {len(entry.inputs)},"
            f" .first_output = {first_output}, .output_count = {len(entry.outputs)}}}"
        )
        first_input += len(entry.inputs)
        first_output += len(entry.outputs)
        driver_count += bool(entry.driver)


def _tensors(tensors: tuple[Tensor, ...], names: dict[str, int]) -> list[str]:
    rows = []
    first_extent = 0
    for tensor in tensors:
        info = tensor.info
        rows.append(
            f"{{.name = {names[info.name]}, .dtype = {int(info.dtype)},"
            f" .rank = {len(info.shape)}, .first_extent = {first_extent},"
            f" .offset = {tensor.offset}u, .length = {info.byte_count}u}}"
        )
        first_extent += len(info.shape)
    return rows
