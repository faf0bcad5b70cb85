"""gdb pretty-printers for the runtime's types: statuses, plans, commands, bindings and tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gdb

from tools.run.debug.inside import plans
from tools.run.decode_status import decode

C_TYPES = {
    "bool": "bool", "i8": "signed char", "u8": "unsigned char", "i16": "short",
    "u16": "unsigned short", "i32": "int", "u32": "unsigned int", "i64": "long long",
    "u64": "unsigned long long", "f32": "float", "f64": "double",
}  # fmt: skip
_ELEMENTS = 64


class Shown:
    """A pretty-printer of one text and optional elements."""

    def __init__(self, text: str, elements: Iterator[tuple[str, Any]] | None = None) -> None:
        self._text = text
        self._elements = elements

    def to_string(self) -> str:
        return self._text

    def children(self) -> Iterator[tuple[str, Any]]:
        return self._elements or iter(())

    def display_hint(self) -> str | None:
        return "array" if self._elements is not None else None


def status_text(word: int, tables: decode.Tables) -> str:
    """Returns "INVALID_ARGUMENT, runtime_bm/model/model.c:93" for a bm_status_t."""
    if word == 0:
        return "ok"
    status = decode.decode(word, tables)
    return f"{status.code}, {status.file or 'a file not in status.h'}:{status.line}"


def binding_text(binding: gdb.Value) -> str:
    region, start, length = (int(binding[field]) for field in ("region", "offset", "length"))
    name = plans.REGIONS.get(region, f"region {region}")
    return f"{name}[{start}..{start + length})"


def _type_text(tensor: gdb.Value, shape: gdb.Value, name: str) -> str:
    extents = "x".join(str(int(shape[axis])) for axis in range(int(tensor["rank"])))
    return f"{_dtype(tensor)}[{extents}] {name}"


def _dtype(tensor: gdb.Value) -> str:
    return plans.DTYPES.get(int(tensor["dtype"]), "?")


def _plan_tensor(tensor: gdb.Value, known: list[plans.Plan]) -> Shown:
    start = int(tensor["offset"])
    place = f"in arena[{start}..{start + int(tensor['length'])})"
    for plan in known:
        if plan.holds(tensor):
            first = int(tensor["first_extent"])
            shape = plan.rows("extents") + first if int(tensor["rank"]) else tensor["rank"]
            return Shown(f"{_type_text(tensor, shape, plan.string(tensor['name']))} {place}")
    return Shown(f"{_dtype(tensor)} {place}, of a plan not in this image")


def _tensor(tensor: gdb.Value) -> Shown:
    name = C_TYPES.get(_dtype(tensor))
    text = _type_text(tensor, tensor["shape"], tensor["name"].string())
    if name is None:
        return Shown(f"{text} at {int(tensor['data']):#x}")
    kind = gdb.lookup_type(name)
    data = tensor["data"].cast(kind.pointer())
    count = min(int(tensor["bytes"]) // kind.sizeof, _ELEMENTS)
    return Shown(text, ((f"[{i}]", data[i]) for i in range(count)))


def _plan(value: gdb.Value) -> Shown:
    plan = plans.Plan(value, None)
    header, commands = plan.header, plan.rows("commands")
    text = (
        f"plan {plan.name}: {plan.count('exports')} kernels,"
        f" {int(header['arena_bytes'])} bytes of arena, {int(header['weights_bytes'])} of weights,"
        f" {int(header['state_bytes'])} of state, {plan.command_count} commands"
    )
    return Shown(text, ((f"[{i}]", commands[i]) for i in range(plan.command_count)))


def _command(value: gdb.Value, known: list[plans.Plan]) -> Shown:
    for plan in known:
        first = int(plan.rows("commands"))
        number, rest = divmod(int(value.address or 0) - first, value.type.sizeof)
        if rest == 0 and 0 <= number < plan.command_count:
            start, count = int(value["first_binding"]), int(value["binding_count"])
            spans = [binding_text(plan.rows("bindings")[start + i]) for i in range(count)]
            return Shown(f"{plan.command(number).describe()}, {', '.join(spans)}")
    kind = int(value["kind"])
    return Shown(
        f"{plans.KINDS.get(kind, '?')}, kernel {int(value['export_index'])}, of a plan not in"
        " this image"
    )


def pointer(tensor: plans.Tensor) -> gdb.Value:
    """Returns the address of a tensor as a pointer to a C array of its shape."""
    kind = gdb.lookup_type(C_TYPES.get(tensor.dtype, "unsigned char"))
    extents = tensor.shape if tensor.dtype in C_TYPES else (tensor.bytes,)
    for extent in reversed(extents):
        kind = kind.array(extent - 1)
    return gdb.Value(tensor.address).cast(kind.pointer())


def register(tables: decode.Tables, known: Callable[[], list[plans.Plan]]) -> None:
    """Makes gdb use the printers; `known` returns the plans of the image."""
    printers: dict[str, Callable[[gdb.Value], Shown]] = {
        "bm_plan_binding_t": lambda value: Shown(binding_text(value)),
        "bm_plan_command_t": lambda value: _command(value, known()),
        "bm_plan_t": _plan,
        "bm_plan_tensor_t": lambda value: _plan_tensor(value, known()),
        "bm_status_t": lambda value: Shown(status_text(int(value["bits"]), tables)),
        "bm_tensor_t": _tensor,
    }

    def find(value: gdb.Value) -> Shown | None:
        printer = printers.get(value.type.strip_typedefs().unqualified().name or "")
        printer = printer or printers.get(value.type.unqualified().name or "")
        return printer(value) if printer else None

    gdb.pretty_printers.insert(0, find)
