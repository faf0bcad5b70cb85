"""Makes shapes and integers of a .tflite file constants, where they do not depend on data.

LiteRT computes them. What remains has static shapes, and no tensors without elements where others are joined to them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bmc import factory
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import tflite_build, tflite_file, tflite_litert, tflite_schema

# The most elements of an integer tensor that is a constant: a shape, a counter or the bounds of a slice.
_MOST = 64
# The most elements of any other, such as the zeros that a state begins with.
_MOST_FOLDED = 4096
_INTEGERS = ("bool", "int32", "int64")
# What an op does besides its results.
_EFFECTS = ("ASSIGN_VARIABLE", "CALL_ONCE")


def constant(model: Any, graph: Any, index: int) -> Array | None:
    """Returns the value of a small integer tensor that is a constant, None for any other."""
    tensor = graph.tensors[index]
    kind, data = tflite_schema.weight_type(tensor), model.buffers[tensor.buffer].data
    size = math.prod(tflite_schema.shape(tensor))
    if kind not in _INTEGERS or data is None or not tensor.buffer or size > _MOST:
        return None
    return np.asarray(data, np.uint8).view(kind).reshape(tflite_schema.shape(tensor))


def fold(model: Any, graph: Any, op: Any) -> bool:
    """Makes the results of an op constants if its operands are small integers; returns whether it did."""
    if tflite_schema.op_kind(model, op) == "LOGICAL_AND" and _is_never(model, graph, op):
        result = graph.tensors[op.outputs[0]]
        _set(model, result, np.zeros(tflite_schema.shape(result), bool))
        return True
    operands = [int(index) for index in op.inputs if index >= 0]
    results = [graph.tensors[index] for index in op.outputs]
    if not operands or any(constant(model, graph, index) is None for index in operands):
        return False
    if any(tflite_schema.weight_type(result) not in _INTEGERS for result in results):
        return False
    values = _computed(model, graph, op, operands)
    if values is None or any(value.size > _MOST for value in values):
        return False
    for result, value in zip(results, values, strict=True):
        _set(model, result, value)
    return True


def _is_never(model: Any, graph: Any, op: Any) -> bool:
    """Whether an operand is false, whatever the other one is."""
    values = [constant(model, graph, int(index)) for index in op.inputs]
    return any(value is not None and not value.any() for value in values)


def settle(model: Any, name: str) -> None:
    """Gives the tensors of all graphs the shapes that they have for its inputs, and folds what follows from those.

    Args:
      model: a ModelT; its inputs have static shapes. Other graphs than the first are those of loops.
      name: the file's, for messages.

    Raises:
      BmcError: LiteRT cannot run it.
    """
    graph, *others = model.subgraphs
    litert = tflite_litert.interpreter(tflite_schema.pack(model, 1 << 16), name, keeps=True)
    try:
        litert.allocate_tensors()
        litert.invoke()
    except (RuntimeError, ValueError) as error:
        raise BmcError(
            "model-failed", f"LiteRT cannot run '{name}': {factory.first_line(error)}"
        ) from None
    tflite_file.take_shapes(graph, litert.get_tensor_details())
    kept: list[Any] = []
    same: dict[int, int] = {}
    known = {index for index in range(len(graph.tensors)) if _is_constant(model, graph, index)}
    for op in graph.operators:
        op.inputs = [same.get(int(index), int(index)) for index in op.inputs]
        if not _settle(model, graph, op, known, litert, same):
            kept.append(op)
    graph.outputs = [same.get(int(index), int(index)) for index in graph.outputs]
    graph.operators = _needed(model, graph, kept)
    for number, other in enumerate(others, 1):
        tflite_file.take_shapes(other, litert.get_tensor_details(subgraph_index=number))
    for each in model.subgraphs:
        _settle_calls(model, each)
    for other in others:
        other.operators = [op for op in other.operators if not _is_size(model, other, op)]


def _settle_calls(model: Any, graph: Any) -> None:
    """Gives what a loop carries its shapes: LiteRT does not tell those that the condition does not read."""
    for op in graph.operators:
        if tflite_schema.op_kind(model, op) == "WHILE":
            options = op.builtinOptions
            for number in (options.condSubgraphIndex, options.bodySubgraphIndex):
                called = model.subgraphs[number]
                for given, own in zip(op.inputs, called.inputs, strict=True):
                    called.tensors[own].shape = graph.tensors[given].shape


def _is_size(model: Any, graph: Any, op: Any) -> bool:
    """Returns whether an op of a loop is not needed, because its result is a shape, or follows from shapes."""
    if tflite_schema.op_kind(model, op) != "SHAPE":
        return fold(model, graph, op)
    result = graph.tensors[op.outputs[0]]
    shape = tflite_schema.shape(graph.tensors[op.inputs[0]])
    _set(model, result, np.array(shape, tflite_schema.weight_type(result)))
    return True


def _settle(
    model: Any, graph: Any, op: Any, known: set[int], litert: Any, same: dict[int, int]
) -> bool:
    """Returns whether an op is not needed, because its result is a constant or another tensor."""
    kind = tflite_schema.op_kind(model, op)
    results = [graph.tensors[index] for index in op.outputs]
    if kind == "SHAPE" or all(int(index) in known for index in op.inputs if index >= 0):
        small = all(math.prod(tflite_schema.shape(result)) <= _MOST_FOLDED for result in results)
        if small and kind not in _EFFECTS:
            for index, result in zip(op.outputs, results, strict=True):
                _set(model, result, litert.get_tensor(int(index)))
                known.add(int(index))
            return True
    if kind == "CONCATENATION":
        op.inputs = [i for i in op.inputs if math.prod(tflite_schema.shape(graph.tensors[i]))]
        if len(op.inputs) == 1 and not op.builtinOptions.fusedActivationFunction:
            same[int(op.outputs[0])] = op.inputs[0]
            return True
    return False


def _is_constant(model: Any, graph: Any, index: int) -> bool:
    tensor = graph.tensors[index]
    return bool(tensor.buffer) and model.buffers[tensor.buffer].data is not None


def _set(model: Any, tensor: Any, value: Array) -> None:
    tensor.buffer = tflite_build.add_buffer(model, value)
    tensor.shape, tensor.shapeSignature, tensor.hasRank = list(value.shape), None, True


def _needed(model: Any, graph: Any, ops: list[Any]) -> list[Any]:
    """Returns the ops whose results are read."""
    read = {int(index) for index in graph.outputs}
    kept = []
    for op in reversed(ops):
        if read.intersection(map(int, op.outputs)) or tflite_schema.op_kind(model, op) in _EFFECTS:
            read.update(map(int, op.inputs))
            kept.append(op)
    return kept[::-1]


def _computed(model: Any, graph: Any, op: Any, operands: list[int]) -> list[Array] | None:
    """Returns the results of an op on constants, None if LiteRT does not compute them."""
    alone = tflite_build.empty()
    (part,) = alone.subgraphs
    places = {}
    for index in operands:
        value = constant(model, graph, index)
        assert value is not None
        places[index] = tflite_build.add_constant(alone, part, f"c{index}", value)
    for index in op.outputs:
        kind = tflite_schema.weight_type(graph.tensors[index])
        shape = tflite_schema.shape(graph.tensors[index])
        places[int(index)] = tflite_build.add_tensor(part, f"r{index}", shape, str(kind))
    made = tflite_build.op(
        alone,
        tflite_schema.op_kind(model, op),
        [places.get(int(index), -1) for index in op.inputs],
        [places[int(index)] for index in op.outputs],
        version=model.operatorCodes[op.opcodeIndex].version,
        options=op.builtinOptions,
    )
    part.operators, part.inputs = [made], []
    part.outputs = [places[int(index)] for index in op.outputs]
    litert = tflite_litert.interpreter(tflite_schema.pack(alone, 1024), "a part of the model")
    try:
        litert.allocate_tensors()
        litert.invoke()
    except (RuntimeError, ValueError):
        return None
    return [litert.get_tensor(index) for index in part.outputs]
