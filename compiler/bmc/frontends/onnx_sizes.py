"""Computes the integers that follow from shapes and constants, so that shapes are known that follow from them.

ONNX's own inference follows few of the ops with which exporters compute paddings and sizes. Integers have one answer,
so this changes no rounding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import onnx_graph
from bmc.frontends.onnx_graph import Graph, attributes

# Of negative numbers, ONNX's reference makes other results.
_QUOTIENTS = ("Div", "Mod")
# What may have more elements than its operands.
_LARGER = ("ConstantOfShape", "Expand", "Tile")
_OPS = frozenset({
    "Add", "Cast", "Concat", "Gather", "Identity", "Max", "Min", "Mul", "Neg", "Range", "ReduceProd", "Reshape",
    "Slice", "Split", "Squeeze", "Sub", "Transpose", "Unsqueeze", *_LARGER,
})  # fmt: skip
# The most elements of a value. A shape has few.
_MOST = 64


def apply(model: Any) -> bool:
    """Puts initializers in the place of nodes of a ModelProto whose shapes are inferred; returns whether it did."""
    from onnx import numpy_helper

    graph = Graph(model.graph)
    outputs = {value.name for value in model.graph.output}
    known: dict[str, Array] = {}
    for node in model.graph.node:
        values = {} if outputs.intersection(node.output) else _values(node, graph, known, model)
        if not values:
            graph.nodes.append(node)
        known |= values
    if known:
        graph.finish()
        model.graph.initializer.extend(
            numpy_helper.from_array(value, name) for name, value in known.items()
        )
    return bool(known)


def _values(node: Any, graph: Graph, known: dict[str, Array], model: Any) -> dict[str, Array]:
    """Returns a node's outputs by name, none if they depend on data, or are no small tensors of integers."""
    from onnx import numpy_helper

    if node.op_type == "Shape":
        shape = graph.shape(node.input[0])
        given = attributes(node)
        bounds = slice(given.get("start", 0), given.get("end"))
        return {} if shape is None else {node.output[0]: np.array(shape, np.int64)[bounds]}
    if node.op_type not in _OPS and node.op_type not in _QUOTIENTS:
        return {}
    inputs: dict[str, Array] = {}
    for name in filter(None, node.input):
        shape = graph.shape(name)
        if name not in known and (shape is None or math.prod(shape) > _MOST):
            return {}
        value = known[name] if name in known else graph.constant(name)
        if value is None or value.dtype.kind != "i":
            return {}
        inputs[name] = value
    if node.op_type in _QUOTIENTS and not _divides(*map(inputs.__getitem__, node.input)):
        return {}
    if _is_large(node, graph, list(inputs.values())):
        return {}
    initializers = [numpy_helper.from_array(value, name) for name, value in inputs.items()]
    found: dict[str, Array] = {}
    for name in node.output:
        value = onnx_graph.evaluated(model, [node], initializers, name)
        if value is None or value.dtype.kind != "i" or value.size > _MOST:
            return {}
        found[name] = value
    return found


def _is_large(node: Any, graph: Graph, inputs: list[Array]) -> bool:
    """Whether a result has more elements than its operands, and too many to wait for."""
    if node.op_type == "Range":
        start, limit, delta = (int(value.reshape(-1)[0]) for value in inputs)
        return not delta or (limit - start) // delta > _MOST
    if node.op_type not in _LARGER:
        return False
    return math.prod(graph.shape(node.output[0]) or (_MOST + 1,)) > _MOST


def _divides(numerator: Array, divisor: Array) -> bool:
    """Whether quotients and remainders of these integers are alike everywhere."""
    return bool((numerator >= 0).all() and (divisor > 0).all())
