"""Turns a TensorFlow function into StableHLO: freezes its variables, then runs XLA's importer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bmc import factory
from bmc.artifacts import TensorInfo
from bmc.errors import BmcError
from bmc.frontends import mlir, quiet
from bmc.ir import ir_util

_UNSUPPORTED = re.compile(r"(\w+) \(No registered '\w+' OpKernel")
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_CHANGES = re.compile(r"^(Assign\w*VariableOp|ResourceScatter\w*|ResourceApply\w*)$")
_RANDOM = re.compile(r"Random|TruncatedNormal|Multinomial")


def trace(call: Callable[..., Any], inputs: tuple[TensorInfo, ...], folder: Path) -> Any:
    """Returns the model as a concrete function of tensors with the shapes and dtypes of `inputs`.

    Args:
      call: a function with one tensor argument per input.
      inputs: the inputs to compile the model for.
      folder: the model's own folder, whose lines errors name.

    Raises:
      BmcError: the model cannot be traced.
    """
    import tensorflow as tf

    try:
        with quiet.python():
            return tf.function(call, autograph=False).get_concrete_function(*_specs(inputs))
    except Exception as error:
        raise BmcError(
            "export-rejected",
            f"TensorFlow cannot trace the model: {factory.first_line(error)}",
            where=factory.model_line(error, folder),
            hint="a model must be traceable with fixed shapes, without branches on tensor values",
        ) from error


def captured(traced: Any, variables: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the variables that the traced function reads or writes, by name."""
    read = {id(outer) for outer, _ in traced.graph.captures}
    return {name: variable for name, variable in variables if id(variable.handle) in read}


def write(
    traced: Any, inputs: tuple[TensorInfo, ...], variables: dict[str, Any], path: Path
) -> None:
    """Writes the function `main`, with the variables as constants.

    Args:
      traced: the result of trace().
      inputs: the inputs given to trace().
      variables: the result of captured().
      path: model.mlirbc.

    Raises:
      BmcError: XLA cannot compile an op, or the model changes a variable or draws random numbers; the
        error names the op or variable.
    """
    import tensorflow as tf

    _refuse_side_effects(traced, variables)
    try:
        with quiet.python():
            frozen = freeze(traced)
            compiled = tf.function(lambda *tensors: frozen(*tensors), jit_compile=True)
            ir = compiled.experimental_get_compiler_ir(*_specs(inputs))
            data = ir(stage="stablehlo_serialized")
    except Exception as error:
        raise _rejected(error) from error
    _write(data, path)
    _check_static(path)


def freeze(traced: Any) -> Any:
    """Returns the traced function with its variables as constants."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    # Do not lower control flow, because XLA cannot compile the lowered ops.
    return convert_variables_to_constants_v2(traced, lower_control_flow=False)


def _specs(inputs: tuple[TensorInfo, ...]) -> list[Any]:
    import tensorflow as tf

    return [tf.TensorSpec(info.shape, info.dtype.numpy.name) for info in inputs]


def _write(data: bytes, path: Path) -> None:
    from iree.compiler import ir

    with ir.Context():
        module = ir.Module.parse(data)
        # TensorFlow numbers its functions, and symbols are named after the module.
        module.operation.attributes["sym_name"] = ir.StringAttr.get("model")
        for op in ir_util.walk(module.operation):
            op.location = _name_only(op.location)
            for argument in (a for r in op.regions for block in r.blocks for a in block.arguments):
                argument.set_location(_name_only(argument.location))
        with path.open("wb") as file:
            module.operation.write_bytecode(file)


def _name_only(location: Any) -> Any:
    """Drops the line of TensorFlow's own code from a location: its path differs between machines."""
    from iree.compiler import ir

    if not isinstance(location, ir.FusedLoc):
        return location
    names = [part for part in location.locations if isinstance(part, ir.NameLoc)]
    return names[0] if names else ir.Location.unknown()


def _check_static(path: Path) -> None:
    try:
        mlir.signature(path, "the model")
    except BmcError as error:
        raise BmcError(
            error.kind,
            error.message,
            hint="the size of an output must not depend on values: pad it to its maximum",
        ) from error


def _refuse_side_effects(traced: Any, variables: dict[str, Any]) -> None:
    handles = {id(variable.handle): variable.name for variable in traced.variables}
    handles |= {id(variable.handle): name for name, variable in variables.items()}
    names = {inner.name: handles.get(id(outer), "") for outer, inner in traced.graph.captures}
    for op in ops(traced.graph):
        if _RANDOM.search(op.type):
            raise BmcError(
                "random-model",
                f"op '{op.name}' ({op.type}) draws random numbers",
                hint="pass them in as an input",
            )
        if _CHANGES.search(op.type):
            name = names.get(op.inputs[0].name) or op.inputs[0].name
            raise BmcError(
                "stateful-model",
                f"op '{op.name}' changes the model's variable '{name}'",
                hint="pass state in as an input and return it as an output",
            )


def ops(graph: Any) -> Iterable[Any]:
    """Yields all operations of a graph and of the functions it calls."""
    yield from graph.get_operations()
    for name in sorted(graph._functions):
        yield from graph._functions[name].graph.get_operations()


def _rejected(error: Exception) -> BmcError:
    text = str(error)
    hint = "rewrite that part of the model with other ops"
    node = _NODE.search(text)
    where = f"node {node[1]}" if node else ""
    ops = list(dict.fromkeys(_UNSUPPORTED.findall(text)))
    if ops:
        what = f"XLA cannot compile op '{ops[0]}'"
        if len(ops) > 1:
            what += f", nor {', '.join(ops[1:])}"
        return BmcError("op-rejected", what, where=where, hint=hint)
    return BmcError(
        "op-rejected", f"XLA rejects the model: {factory.first_line(error)}", where=where, hint=hint
    )
