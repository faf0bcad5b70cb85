"""State becomes arguments and results.

A mutable global holds what a model remembers between calls. IREE's host program may give it a new buffer
at every call, let several share one buffer and compute their places at run time. Here every function takes
the states it reads as arguments. For each state that it changes, it returns a result and takes the storage
for that result. Then bmc decides where each state lies, as for any other tensor (plan/build.py). One
more function returns the initial values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from bmc import dtype
from bmc.errors import BmcError
from bmc.ir import build, ir_util, names
from bmc.rewrites.model_context import RESET, ModelContext, StateInfo, States, Uses

_HINT = "load and store state in the entry point itself, outside of loops and branches"


def apply(module: Any, context: ModelContext) -> None:
    """Makes the states explicit and sets context.states; see make_explicit()."""
    context.states = make_explicit(module)


def make_explicit(module: Any) -> States:
    """Rewrites loads and stores of mutable globals.

    Returns:
      The states, and which of them each function reads and writes.

    Raises:
      BmcError: a state is not a tensor of static shape, or a load or store depends on control flow.
    """
    found = [op for op in ir_util.walk(module.operation) if _is_state(op)]
    infos = tuple(_info(op) for op in found)
    states = States(infos, {RESET: Uses(written=tuple(range(len(found))))})
    if not found:
        return states
    numbers = {info.name: number for number, info in enumerate(infos)}
    for op in [child.operation for child in module.body.operations]:
        if op.name in names.FUNCTIONS and op.regions[0].blocks:
            states.uses[ir_util.string(op, "sym_name")] = _rewrite(op, numbers)
    initial = [_initial_value(op) for op in found]
    for op in found:
        op.erase()
    reset = ir.Module.parse(_reset_function(infos))
    _set_constants(reset, initial)
    for op in [*reset.body.operations]:
        module.body.append(op)
    return states


def _is_state(op: ir_util.Op) -> bool:
    return op.name == names.GLOBAL and "is_mutable" in op.attributes


def _info(op: ir_util.Op) -> StateInfo:
    name = ir_util.string(op, "sym_name")
    kind = ir.TypeAttr(op.attributes["type"]).value
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        raise BmcError(
            "unsupported-state",
            f"the model keeps '{name}' of type {kind} between calls",
            hint="keep state in tensors of a fixed shape",
        )
    element = dtype.from_mlir(str(kind.element_type))
    return StateInfo(name, str(kind), element, tuple(kind.shape), ir_util.tensor_bytes(kind))


def _initial_value(op: ir_util.Op) -> Any:
    """Returns the initial value of a state, zeros if the model gives none."""
    if "initial_value" in op.attributes:
        return op.attributes["initial_value"]
    kind = ir.RankedTensorType(ir.TypeAttr(op.attributes["type"]).value)
    element = str(kind.element_type)
    zero = {"i1": "false"}.get(element, "0.0" if "f" in element else "0")
    return ir.Attribute.parse(f"dense<{zero}> : {kind}")


def _rewrite(function: ir_util.Op, numbers: dict[str, int]) -> Uses:
    """Turns the states of a function into arguments and results."""
    block = function.regions[0].blocks[0]
    accesses = [op for op in ir_util.walk(function) if _accessed(op) in numbers]
    if not accesses:
        return Uses()
    name = ir_util.string(function, "sym_name")
    outside = [op for op in accesses if op.operation.block != block]
    private = (
        "sym_visibility" in function.attributes
        and ir_util.string(function, "sym_visibility") != "public"
    )
    if outside or private or len(function.regions[0].blocks) > 1:
        raise BmcError(
            "unsupported-state",
            f"{name} uses the state '{_accessed(accesses[0])}' inside of control flow or in a helper function",
            hint=_HINT,
        )
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    location = ir.Location.unknown()
    read = _in_order(numbers[_accessed(op)] for op in accesses if _is_load(op))
    written = _in_order(numbers[_accessed(op)] for op in accesses if not _is_load(op))
    kinds = {numbers[_accessed(op)]: _kind(op) for op in accesses}
    current = {number: block.add_argument(kinds[number], location) for number in read}
    for number in written:
        block.add_argument(kinds[number], location)
    for op in accesses:
        number = numbers[_accessed(op)]
        if _is_load(op):
            op.results[0].replace_all_uses_with(current[number])
        else:
            current[number] = op.operands[0]
    for op in accesses:
        op.erase()
    terminator = list(block)[-1].operation
    with ir.InsertionPoint(terminator):
        results = [*terminator.operands, *(current[number] for number in written)]
        ir.Operation.create(terminator.name, operands=results, loc=terminator.location)
    terminator.erase()
    inputs = [argument.type for argument in block.arguments]
    signature = ir.FunctionType.get(inputs, [value.type for value in results])
    function.attributes["function_type"] = ir.TypeAttr.get(signature)
    _set_attributes(
        function, "arg_attrs", len(types.inputs) + len(read), len(types.results), written
    )
    _set_attributes(function, "res_attrs", len(results), 0, ())
    return Uses(read, written)


def _set_attributes(
    function: ir_util.Op, name: str, plain: int, first_result: int, storage: Sequence[int]
) -> None:
    """Gives every argument or result a dictionary. Storage arguments name the result they are for."""
    old = list(function.attributes[name]) if name in function.attributes else []
    old += [ir.DictAttr.get({})] * (plain - len(old))
    index = ir.IndexType.get()
    old += (
        ir.DictAttr.get({"iree.abi.output": ir.IntegerAttr.get(index, first_result + place)})
        for place in range(len(storage))
    )
    if old:
        function.attributes[name] = ir.ArrayAttr.get(old)


def _accessed(op: ir_util.Op) -> str:
    """Name of the global that a load or store accesses, "" for any other op."""
    if op.name not in (names.GLOBAL_LOAD, names.GLOBAL_STORE):
        return ""
    return ir_util.string(op, "global")


def _is_load(op: ir_util.Op) -> bool:
    return bool(op.name == names.GLOBAL_LOAD)


def _kind(op: ir_util.Op) -> Any:
    return op.results[0].type if _is_load(op) else op.operands[0].type


def _in_order(numbers: Any) -> tuple[int, ...]:
    return tuple(sorted(set(numbers)))


def _reset_function(infos: tuple[StateInfo, ...]) -> str:
    parameters = ", ".join(
        f"%s{i}: {info.type} {{iree.abi.output = {i} : index}}" for i, info in enumerate(infos)
    )
    types = ", ".join(info.type for info in infos)
    # Placeholders that can be parsed for every element type.
    lines = [
        f"  %v{i} = util.optimization_barrier %s{i} : {info.type}" for i, info in enumerate(infos)
    ]
    values = ", ".join(f"%v{i}" for i in range(len(infos)))
    return "\n".join(
        (
            f"func.func @{RESET}({parameters}) -> ({types}) {{",
            *lines,
            f"  return {values} : {types}",
            "}",
        )
    )


def _set_constants(module: Any, values: list[Any]) -> None:
    """Replaces the placeholders with constants."""
    barriers = [
        op for op in ir_util.walk(module.operation) if op.name == "util.optimization_barrier"
    ]
    for op, value in zip(barriers, values, strict=True):
        with ir.InsertionPoint(op):
            constant = build.constant(value)
        op.results[0].replace_all_uses_with(constant)
        op.erase()
