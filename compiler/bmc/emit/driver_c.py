"""Turns an entry point's control flow into a C function that runs ranges of the plan's commands.

Integers are unsigned and as wide as in the VM dialect. Signed operations cast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bmc.emit import calls_c
from bmc.host.program import (
    Assign,
    Branch,
    Goto,
    Integer,
    Label,
    Let,
    Load,
    Return,
    Run,
    Statement,
    Variable,
    Wait,
)
from bmc.plan.tables import BindingPatch, CommandKind, Entry, Plan

INCLUDE = '#include "runtime_bm/plan/plan_driver.h"\n'

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<",
    "shr.u": ">>", "cmp.eq": "==", "cmp.ne": "!=", "cmp.lt.u": "<",
}  # fmt: skip


def function_name(index: int) -> str:
    return f"drive_entry{index}"


def source(model: Plan, index: int) -> str:
    """Returns the driver of entry point number `index`, a static C function."""
    return _Driver(model, model.entries[index]).text(function_name(index))


class _Driver:
    def __init__(self, model: Plan, entry: Entry) -> None:
        self._entry = entry
        self._commands = model.commands
        # Numbers of the first binding and the first constant of every command.
        self._first: list[tuple[int, int]] = []
        bindings = constants = 0
        for command in model.commands:
            self._first.append((bindings, constants))
            bindings += len(command.bindings)
            constants += len(command.constants)

    def text(self, name: str) -> str:
        lines = [f"static bm_status_t {name}(const bm_plan_runner_t *runner) {{"]
        for index in sorted(_variables(self._entry)):
            lines.append(f"  uint{self._entry.variable_bits[index]}_t v{index} = 0;")
        if self._entry.loads:
            lines.append("  uint64_t loaded;")
        lines += (f"  {line}" for s in self._entry.driver for line in self._statement(s))
        return "\n".join((*lines, "}", "", ""))

    def _statement(self, statement: Statement) -> Iterator[str]:
        match statement:
            case Run(first, end):
                first += self._entry.first_command
                end += self._entry.first_command
                for command in range(first, end):
                    yield from self._patches(command)
                yield f"BM_TRY(bm_plan_run(runner, {first}, {end - first}));"
            case Let(target, operation, operands):
                yield f"v{target.index} = {expression(operation, operands)};"
            case Load(target, _):
                place = self._entry.loads[target.index]
                yield (
                    f"BM_TRY(bm_driver_load(runner, {int(place.region)}, {place.start}u,"
                    f" {place.size}u, {_operand(place.offset, 64)}, {place.length}, &loaded));"
                )
                yield f"v{target.index} = (uint32_t)loaded;"
            case Assign(targets, sources):
                # All at once: a source may also be a target.
                yield "{"
                for target, value in zip(targets, sources, strict=True):
                    text = _operand(value, target.bits)
                    yield f"  const uint{target.bits}_t n{target.index} = {text};"
                for target in targets:
                    yield f"  v{target.index} = n{target.index};"
                yield "}"
            case Label(block):
                yield f"block{block}:;"
            case Goto(block):
                yield f"goto block{block};"
            case Branch(condition, then, otherwise):
                yield f"if (v{condition.index} != 0) {{"
                yield from (f"  {line}" for part in then for line in self._statement(part))
                yield "} else {"
                yield from (f"  {line}" for part in otherwise for line in self._statement(part))
                yield "}"
            case Wait():
                yield f"BM_TRY({calls_c.WAIT}());"
            case Return():
                yield "return bm_ok();"

    def _patches(self, number: int) -> Iterator[str]:
        """Sets what the tables cannot know about a command."""
        command = self._commands[number]
        first_binding, first_constant = self._first[number]
        moved: dict[int, str] = {}
        for patch in command.patches:
            if isinstance(patch, BindingPatch):
                moved[patch.binding] = f"{patch.start}u, {patch.size}u, v{patch.variable}"
            else:
                constant = first_constant + patch.constant
                yield f"k_constants[{constant}] = (uint32_t)v{patch.variable};"
        if command.kind is CommandKind.COPY and moved:
            # Together, because they must not overlap. A side that stays is its own storage.
            source, target = (
                moved.get(index, f"{binding.offset}u, {binding.length}u, 0u")
                for index, binding in enumerate(command.bindings)
            )
            yield f"BM_TRY(bm_driver_bind_copy(&k_bindings[{first_binding}], {source}, {target}));"
            return
        for index, place in moved.items():
            binding = first_binding + index
            yield f"BM_TRY(bm_driver_bind(&k_bindings[{binding}], {place}));"


def expression(operation: str, operands: Sequence[Integer]) -> str:
    """Returns C for an operation of the VM dialect, "vm.add.i32"."""
    found = re.fullmatch(r"vm\.(.+?)\.i(32|64)(?:\.i(?:32|64))?(\.[su])?", operation)
    assert found, operation
    name, bits = found[1] + (found[3] or ""), int(found[2])
    if name == "select":
        condition, first, second = operands
        return (
            f"{_operand(condition, 32)} != 0 ? {_operand(first, bits)} : {_operand(second, bits)}"
        )
    texts = [_operand(operand, bits) for operand in operands]
    signed = [f"(int{bits}_t){text}" for text in texts]
    match name:
        case "fma":
            return f"{texts[0]} * {texts[1]} + {texts[2]}"
        case "trunc":
            return f"(uint32_t){texts[0]}"
        case "ext.i8.u" | "ext.i16.u":
            return f"(uint{name[5:-2]}_t){texts[0]}"
        case "ext.i8.s" | "ext.i16.s":
            return f"(uint32_t)(int{name[5:-2]}_t){texts[0]}"
        case "ext.u":
            return texts[0]
        case "ext.s":
            return f"(uint64_t)(int64_t){signed[0]}"
        case "cmp.nz":
            return f"{texts[0]} != 0"
        case "cmp.lt.s":
            return f"{signed[0]} < {signed[1]}"
        case "shr.s":
            return f"(uint{bits}_t)({signed[0]} >> {texts[1]})"
        case "min.s" | "max.s" | "min.u" | "max.u":
            left, right = signed if name.endswith("s") else texts
            order = "<" if name.startswith("min") else ">"
            return f"{left} {order} {right} ? {texts[0]} : {texts[1]}"
    return f"{texts[0]} {_INFIX[name]} {texts[1]}"


def _operand(value: Integer, bits: int) -> str:
    if isinstance(value, Variable):
        return f"v{value.index}"
    number = value & ((1 << bits) - 1)
    return f"UINT64_C({number})" if bits == 64 else f"{number}u"


def _variables(entry: Entry) -> set[int]:
    """The variables that the driver sets."""

    def of(statements: Sequence[Statement]) -> Iterator[int]:
        for statement in statements:
            match statement:
                case Let(target, _, _) | Load(target, _):
                    yield target.index
                case Assign(targets, _):
                    yield from (target.index for target in targets)
                case Branch(_, then, otherwise):
                    yield from of((*then, *otherwise))

    return set(of(entry.driver))
