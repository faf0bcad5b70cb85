"""Small helpers over iree.compiler.ir shared by the stages."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from iree.compiler import ir

from bmc.names import LAYER_PREFIX, LIBRARY_PREFIX, printable

# The Python bindings have no useful types here, and Any says so.
Op = Any
Value = Any

# A location is a file with a line number, or only a name.
_PLACE = re.compile(r'"([^"]+)"(?::(\d+):\d+)?')
# TensorFlow's wrapper around a whole model.
_WHOLE_MODEL = re.compile(r"^(Stateful)?PartitionedCall(_\d+)?/")


def walk(op: Op) -> Iterator[Op]:
    """Yields every operation nested in `op` in program order, outer before inner."""
    for region in op.regions:
        for block in region:
            for child in block:
                yield child.operation
                yield from walk(child.operation)


def all_of(module: Any, name: str) -> list[Op]:
    """Returns every operation called `name` in a module or operation, in program order."""
    return [op for op in walk(module.operation) if op.name == name]


def read(path: Path) -> Any:
    """Parses MLIR text or bytecode. The caller must have entered an ir.Context."""
    return ir.Module.parse(path.read_bytes())


def write(module: Any, path: Path) -> None:
    """Verifies the module and writes it as bytecode; raises ir.MLIRError if it is invalid."""
    module.operation.verify()
    with path.open("wb") as file:
        module.operation.write_bytecode(file)


def uses(value: Value) -> list[tuple[Op, int]]:
    """Returns (operation, operand number) for every use of `value`."""
    return [(use.owner.operation, use.operand_number) for use in value.uses]


def definition(value: Value) -> Op | None:
    """Returns the operation that computes `value`, None for an argument of a block."""
    owner = value.owner
    # The class of some operations has a `name` of its own, so it must be the plain operation.
    return None if isinstance(owner, ir.Block) else owner.operation


def defined_by(value: Value, *names: str) -> Op | None:
    """Returns the operation that computes `value`, None if it is not one of `names`."""
    owner = definition(value)
    return owner if owner is not None and owner.name in names else None


def behind(value: Value, views: Collection[str]) -> Value:
    """Returns what a value is made of by operations of these names, each from its first operand; it may be itself."""
    owner = definition(value)
    while owner is not None and owner.name in views:
        value = owner.operands[0]
        owner = definition(value)
    return value


def constant_expressions(module: Any) -> set[Op]:
    """Returns the operations that depend on no argument of a block, such as an input or a state."""
    found: set[Op] = set()
    for op in walk(module.operation):
        if all(definition(operand) in found for operand in op.operands):
            found.add(op)
    return found


def erase_unread(chain: list[Op]) -> None:
    """Erases the operations that nothing reads, each of which reads the next."""
    for op in chain:
        if not list(op.results[0].uses):
            op.erase()


def whole(op: Op) -> Op:
    """Returns the outermost operation on tensors whose body contains `op`, or `op` itself."""
    while (parent := op.parent) is not None and parent.name.startswith(("linalg.", "stablehlo.")):
        op = parent.operation
    return op


def element_type(type_: Any) -> Any:
    """Returns the type of the elements of a tensor or vector, and that of a scalar itself."""
    return type_.element_type if isinstance(type_, (ir.RankedTensorType, ir.VectorType)) else type_


def leave_as_it_is(function: Op) -> None:
    """Tells IREE that a dispatch function is as it shall be: no pass of code generation is left."""
    done = "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>"
    function.attributes["translation_info"] = ir.Attribute.parse(done)


def string(op: Op, name: str) -> str:
    """Returns a string or symbol attribute as plain text, without quotes or @."""
    attribute = op.attributes[name]
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return str(ir.FlatSymbolRefAttr(attribute).value)
    return str(ir.StringAttr(attribute).value)


def constant(value: Value) -> int | None:
    """Returns the value of an integer arith.constant, None if `value` is computed."""
    owner = definition(value)
    if owner is None or owner.name != "arith.constant":
        return None
    return int(ir.IntegerAttr(owner.attributes["value"]).value)


def float_constant(value: Value) -> float | None:
    """Returns the value of a float arith.constant, None if `value` is computed or no float."""
    owner = definition(value)
    number = None if owner is None or owner.name != "arith.constant" else owner.attributes["value"]
    return float(number.value) if isinstance(number, ir.FloatAttr) else None


def reduces(op: Op) -> bool:
    """Whether a linalg.generic has a loop over elements that become one."""
    return any("reduction" in str(kind) for kind in op.attributes["iterator_types"])


def place(ops: list[Op]) -> str:
    """Returns where the model's source made `ops`, such as "model.py:12"; "" if unknown.

    Takes the first op's innermost location. Prefers the model's own files to the framework's, and files
    to names.
    """
    found = [
        each
        for op in ops
        for each in _PLACE.findall(str(op.location))
        if not each[0].startswith(LAYER_PREFIX)
    ]
    for candidates in (
        [p for p in found if p[1] and not p[0].startswith(LIBRARY_PREFIX)],
        [p for p in found if p[1]],
        found,
    ):
        if candidates:
            file, line = candidates[0]
            return f"{file.removeprefix(LIBRARY_PREFIX)}:{line}" if line else file
    return ""


def layer(op: Op) -> str:
    """Returns the layer of the model that `op` belongs to, as its framework names it; "" if unknown.

    That is the path and class of a PyTorch module, the operation of a Keras layer, a tensor of a TFLite model, a node
    of an ONNX graph, or a primitive of JAX.
    """
    found = _PLACE.findall(str(op.location))
    modules = [name for name, _ in found if name.startswith(LAYER_PREFIX)]
    if modules:
        return printable(modules[0].removeprefix(LAYER_PREFIX))
    # "main" is the function. TFLite's converter joins the names of all operations that it fused.
    names = [name.partition(";")[0] for name, line in found if not line and name != "main"]
    return printable(_WHOLE_MODEL.sub("", names[0])) if names else ""


def tensor_bytes(tensor_type: Any) -> int:
    """Bytes of a static ranked tensor, with each sub-byte element counted as one byte."""
    return int(math.prod(tensor_type.shape)) * element_bytes(tensor_type.element_type)


def element_bytes(element_type: Any) -> int:
    """Bytes of an element; a complex number is two."""
    if isinstance(element_type, ir.ComplexType):
        return 2 * element_bytes(element_type.element_type)
    width: int = element_type.width
    return max(1, width // 8)


def retype_global(global_op: Op, new_type: Any) -> None:
    """Changes the type of a util.global and of the parameter it is initialized from."""
    old_type = ir.TypeAttr(global_op.attributes["type"]).value
    global_op.attributes["type"] = ir.TypeAttr.get(new_type)
    initial_value = str(global_op.attributes["initial_value"])
    global_op.attributes["initial_value"] = ir.Attribute.parse(
        initial_value.replace(str(old_type), str(new_type))
    )
