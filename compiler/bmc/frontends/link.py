"""Joins functions that take and return their state into one model with mutable globals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array, is_float
from bmc.errors import InternalError
from bmc.ir import ir_util, names

_PURE_SUFFIX = "__pure"


@dataclass(frozen=True, slots=True)
class Function:
    """A file with the MLIR function `pure_name(name)`: (inputs, states) -> (outputs, new states)."""

    name: str
    mlir: Path


def pure_name(name: str) -> str:
    """Returns the name of an entry point's function before its state becomes global."""
    return name + _PURE_SUFFIX


def link(functions: tuple[Function, ...], states: dict[str, Array], output: Path) -> None:
    """Writes a module with one public function per entry point.

    Args:
      functions: the entry points.
      states: initial values by name, in the order in which the functions take them.
      output: file for the bytecode.

    Raises:
      InternalError: a file lacks its function.
    """
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        kinds = {name: _add_global(module, name, value) for name, value in states.items()}
        for function in functions:
            _move(ir.Module.parse(function.mlir.read_bytes()), module)
            pure = _find(module, pure_name(function.name))
            pure.attributes["sym_visibility"] = ir.StringAttr.get("private")
            _add_entry(module, function.name, pure, kinds)
        module.operation.verify()
        with output.open("wb") as file:
            module.operation.write_bytecode(file)


def _add_global(module: ir.Module, name: str, value: Array) -> str:
    """Adds a state and returns its type, in which integers are signless."""
    initial = ir.DenseElementsAttr.get(np.ascontiguousarray(value))
    if not value.any():
        # A splat takes no flash.
        zero = "0.0" if is_float(value) else "0"
        initial = ir.Attribute.parse(f"dense<{zero}> : {initial.type}")
    with ir.InsertionPoint(module.body):
        ir.Operation.create(
            names.GLOBAL,
            attributes={
                "sym_name": ir.StringAttr.get(_symbol(name)),
                "sym_visibility": ir.StringAttr.get("private"),
                "type": ir.TypeAttr.get(initial.type),
                "initial_value": initial,
                "is_mutable": ir.UnitAttr.get(),
            },
        )
    return str(initial.type)


def _add_entry(module: ir.Module, name: str, pure: ir.Operation, states: dict[str, str]) -> None:
    """Adds a function that loads the states, calls the pure function and stores the new states."""
    signature = ir.FunctionType(ir.TypeAttr(pure.attributes["function_type"]).value)
    inputs, results = list(signature.inputs), list(signature.results)
    input_count, output_count = len(inputs) - len(states), len(results) - len(states)
    arguments = [f"%in{i}" for i in range(input_count)]
    lines = []
    for index, (state, kind) in enumerate(states.items()):
        lines.append(f"%state{index} = util.global.load @{_symbol(state)} : {kind}")
        taken = inputs[input_count + index]
        arguments.append(_converted(f"%state{index}", kind, str(taken), lines))
    # "func", or "util" in a quantized model.
    dialect = pure.name.partition(".")[0]
    call = f"{dialect}.call @{pure_name(name)}({', '.join(arguments)}) : {signature}"
    lines.append(f"%r:{len(results)} = {call}" if results else call)
    block = pure.regions[0].blocks[0]
    returned = list(list(block)[-1].operation.operands)
    for index, (state, kind) in enumerate(states.items()):
        if returned[output_count + index] == block.arguments[input_count + index]:
            continue  # this function does not change the state
        given = results[output_count + index]
        value = _converted(f"%r#{output_count + index}", str(given), kind, lines)
        lines.append(f"util.global.store {value}, @{_symbol(state)} : {kind}")
    outputs = ", ".join(map(str, results[:output_count]))
    values = ", ".join(f"%r#{i}" for i in range(output_count))
    lines.append(f"func.return {values} : {outputs}" if outputs else "func.return")
    parameters = ", ".join(
        f"{a}: {t}" for a, t in zip(arguments, inputs[:input_count], strict=False)
    )
    # Parsed next to declarations of everything it refers to, then moved.
    declared = f"({', '.join(map(str, inputs))}) -> ({', '.join(map(str, results))})"
    declarations = [f"{dialect}.func private @{pure_name(name)}{declared}"]
    declarations += (
        f"util.global private mutable @{_symbol(state)} : {kind}" for state, kind in states.items()
    )
    text = "\n".join(
        (*declarations, f"func.func @{name}({parameters}) -> ({outputs}) {{", *lines, "}")
    )
    entry = ir.Module.parse(text)
    for declaration in [*entry.body.operations][:-1]:
        declaration.operation.erase()
    for op in ir_util.walk(entry.operation):
        op.location = pure.location  # Otherwise errors would name a line of this text.
    _move(entry, module)


def _converted(value: str, kind: str, wanted: str, lines: list[str]) -> str:
    """Returns the name of a value of these bits; StableHLO has ui8 where linalg and the states have i8."""
    if kind == wanted:
        return value
    name = f"%bits{len(lines)}"
    lines.append(f"{name} = stablehlo.bitcast_convert {value} : ({kind}) -> {wanted}")
    return name


def _move(source: ir.Module, target: ir.Module) -> None:
    """Moves all operations. Call it last: `source` must outlive the Python objects of its operations."""
    for op in [*source.body.operations]:
        target.body.append(op)


def _find(module: ir.Module, name: str) -> ir.Operation:
    for op in module.body.operations:
        attributes = op.operation.attributes
        if "sym_name" in attributes and ir.StringAttr(attributes["sym_name"]).value == name:
            return op.operation
    raise InternalError(f"torch-mlir wrote no function {name}")


def _symbol(name: str) -> str:
    return name.replace(".", "_")
