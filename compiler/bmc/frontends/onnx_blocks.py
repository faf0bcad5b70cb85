"""Writes quantization of ONNX by blocks, and of uint16, with other ops: IREE's importer knows neither."""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import onnx_unsigned
from bmc.frontends.onnx_graph import Graph, attributes

_WHOLE = ("int8", "uint8", "int16", "uint16")


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces such a QuantizeLinear or DequantizeLinear of known sizes; returns whether it did."""
    if node.op_type not in ("DequantizeLinear", "QuantizeLinear") or node.domain:
        return False
    is_back = node.op_type == "DequantizeLinear"
    shape = graph.shape(node.input[0])
    kind = graph.dtype(node.input[0] if is_back else node.output[0])
    block = attributes(node).get("block_size", 0)
    if shape is None or kind.name not in _WHOLE or not (block or kind == np.uint16):
        return False
    if graph.dtype(node.input[1]) != np.float32:
        return False
    axis = attributes(node).get("axis", 1) % max(len(shape), 1)
    x, scale = node.input[0], spread(graph, node, node.input[1], shape, axis)
    if scale is None:
        return False
    zero = spread(graph, node, node.input[2], shape, axis) if len(node.input) > 2 else None
    if is_back:
        whole = graph.add("Cast", (x,), node, to=6)
        if zero:
            whole = graph.add("Sub", (whole, graph.add("Cast", (zero,), node, to=6)), node)
        made = graph.add("Mul", (graph.add("Cast", (whole,), node, to=1), scale), node)
    else:
        quotient = graph.add("Div", (x, scale), node)
        made = quantized(graph, node, quotient, zero, graph.element(node.output[0]))
    graph.rename(made, node.output[0])
    return True


def quantized(graph: Graph, node: Any, steps: str, zero: str | None, element: int) -> str:
    """Returns f32 that counts in steps as integers: rounded to even ones, from a zero point, saturated."""
    from onnx import helper

    whole = graph.add("Round", (steps,), node)
    if zero:
        start = graph.add("Cast", (graph.add("Cast", (zero,), node, to=6),), node, to=1)
        whole = graph.add("Add", (whole, start), node)
    info = np.iinfo(helper.tensor_dtype_to_np_dtype(element))
    bounds: list[Array] = [np.array(bound, np.float32) for bound in (info.min, info.max)]
    inside = graph.add("Clip", (whole, *bounds), node)
    return onnx_unsigned.narrowed(graph, node, graph.add("Cast", (inside,), node, to=6), element)


def spread(graph: Graph, node: Any, name: str, shape: tuple[int, ...], axis: int) -> str | None:
    """Returns the numbers of a tensor, an axis or blocks so that they fit all elements; None if sizes are not known."""
    given = graph.shape(name)
    if given is None:
        return None
    if block := attributes(node).get("block_size", 0):
        return graph.add("Gather", (name, np.arange(shape[axis]) // block), node, axis=axis)
    if given in ((), (1,)):
        return name
    row = [-1 if each == axis else 1 for each in range(len(shape))]
    return graph.add("Reshape", (name, np.array(row)), node)
