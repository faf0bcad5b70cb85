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

_OPS = frozenset(
    ("Add", "Cast", "Concat", "Gather", "Identity", "Max", "Min", "Mul", "Neg", "ReduceProd")
    + ("Reshape", "Slice", "Squeeze", "Sub", "Transpose", "Unsqueeze")
)
# Of negative numbers, ONNX's reference makes other results.
_QUOTIENTS = ("Div", "Mod")
# The most elements of a value. A shape has few.
_MOST = 64


def apply(model: Any) -> bool:
    """Puts initializers in the place of nodes of a ModelProto whose shapes are inferred; returns whether it did."""
    from onnx import numpy_helper

    graph = Graph(model.graph)
    outputs = {value.name for value in model.graph.output}
    known: dict[str, Array] = {}
    for node in model.graph.node:
        value = None if outputs.intersection(node.output) else _value(node, graph, known, model)
        if value is None:
            graph.nodes.append(node)
        else:
            known[node.output[0]] = value
    if known:
        graph.finish()
        model.graph.initializer.extend(
            numpy_helper.from_array(value, name) for name, value in known.items()
        )
    return bool(known)


def _value(node: Any, graph: Graph, known: dict[str, Array], model: Any) -> Array | None:
    """Returns the only output of a node, None if it depends on data, or is no small tensor of integers."""
    from onnx import numpy_helper

    if node.op_type == "Shape":
        shape = graph.shape(node.input[0])
        given = attributes(node)
        bounds = slice(given.get("start", 0), given.get("end"))
        return None if shape is None else np.array(shape, np.int64)[bounds]
    if node.op_type not in _OPS and node.op_type not in _QUOTIENTS:
        return None
    inputs: dict[str, Array] = {}
    for name in filter(None, node.input):
        shape = graph.shape(name)
        if name not in known and (shape is None or math.prod(shape) > _MOST):
            return None
        value = known[name] if name in known else graph.constant(name)
        if value is None or value.dtype.kind != "i":
            return None
        inputs[name] = value
    if node.op_type in _QUOTIENTS and not _divides(*map(inputs.__getitem__, node.input)):
        return None
    initializers = [numpy_helper.from_array(value, name) for name, value in inputs.items()]
    value = onnx_graph.evaluated(model, [node], initializers, node.output[0])
    return value if value is not None and value.dtype.kind == "i" and value.size <= _MOST else None


def _divides(numerator: Array, divisor: Array) -> bool:
    """Whether quotients and remainders of these integers are alike everywhere."""
    return bool((numerator >= 0).all() and (divisor > 0).all())
