"""Divides, clips, compares, shifts and makes unsigned numbers, which IREE's importer takes for signed ones.

A shift by more bits than a number has leaves nothing of it but its sign, as does one by less than none. The importer's
is the machine's, which differ there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.errors import BmcError
from bmc.frontends.onnx_graph import Graph, attributes, node_name


def rewrite(graph: Graph, node: Any) -> bool:
    """Writes such a node with others; returns whether it did.

    Raises:
      BmcError: it divides numbers of 64 bits.
    """
    from onnx import TensorProto

    element = graph.element(node.input[0]) if node.input else 0
    unsigned = (TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64)
    if node.op_type == "Cast":
        return _cast(graph, node)
    if node.op_type == "BitShift":
        _shift(graph, node)
        return True
    if element not in unsigned:
        return False
    if node.op_type == "Clip":
        _clip(graph, node)
    elif node.op_type in ("Div", "Mod"):
        if element == TensorProto.UINT64:
            raise BmcError(
                "op-rejected",
                f"IREE's importer takes the uint64 of op '{node.op_type}' for signed numbers",
                where=node_name(node),
                hint="divide uint32 or int64",
            )
        wide = TensorProto.INT64 if element == TensorProto.UINT32 else TensorProto.INT32
        operands = [graph.add("Cast", [name], node, to=wide) for name in node.input]
        made = graph.add(node.op_type, operands, node)
        graph.rename(narrowed(graph, node, made, element), node.output[0])
    elif node.op_type == "TopK" and element == TensorProto.UINT8:
        _widen(graph, node)
    else:
        return False
    return True


def narrowed(graph: Graph, node: Any, value: str, element: int) -> str:
    """Returns integers of 32 or 64 bits as ones of fewer, which have them."""
    from onnx import TensorProto

    # What the importer's Cast makes.
    is_known = element in (TensorProto.INT8, TensorProto.UINT8)
    return graph.add("Cast" if is_known else "BitCast", [value], node, to=element)


def _widen(graph: Graph, node: Any) -> None:
    """Makes more bits of the bytes that a node reads, and bytes of its first result."""
    from onnx import TensorProto

    element = graph.element(node.input[0])
    made = type(node)()
    made.CopyFrom(node)
    for place, name in enumerate(node.input):
        if name and graph.element(name) == element:
            made.input[place] = graph.add("Cast", [name], node, to=TensorProto.INT32)
    made.output[0] = graph.new(node)
    graph.nodes.append(made)
    graph.rename(graph.add("Cast", [made.output[0]], node, to=element), node.output[0])


def _cast(graph: Graph, node: Any) -> bool:
    """Makes bytes of floats by way of more bits, because the importer's own bytes of floats end at 127."""
    from onnx import TensorProto

    wanted = attributes(node)["to"]
    if graph.dtype(node.input[0]).kind != "f" or wanted != TensorProto.UINT8:
        return False
    whole = graph.add("Cast", [node.input[0]], node, to=TensorProto.INT32)
    graph.rename(graph.add("Cast", [whole], node, to=wanted), node.output[0])
    return True


def _shift(graph: Graph, node: Any) -> None:
    x, count = node.input
    dtype, direction = graph.dtype(x), attributes(node)["direction"]
    zero, most = np.array(0, dtype), np.array(8 * dtype.itemsize - 1, dtype)
    if dtype.kind == "i":
        is_less = graph.add("Less", [count, zero], node)
        count = graph.add("Where", [is_less, most, count], node)
    safe = graph.add("Min", [count, most], node)
    if dtype.kind == "i" and direction == b"RIGHT":
        made = graph.add("BitShift", [x, safe], node, direction=direction)
    else:
        shifted = graph.add("BitShift", [x, safe], node, direction=direction)
        # A count below zero shifts by all bits but one, and is not what it was.
        is_safe = graph.add("Equal", [safe, node.input[1]], node)
        made = graph.add("Where", [is_safe, shifted, zero], node)
    graph.rename(made, node.output[0])


def _clip(graph: Graph, node: Any) -> None:
    """Takes the larger of the number and its least, then the smaller of that and its most."""
    value = node.input[0]
    for kind, bound in zip(("Max", "Min"), node.input[1:], strict=False):
        if bound:
            value = graph.add(kind, [value, bound], node)
    if value == node.input[0]:
        value = graph.add("Identity", [value], node)
    graph.rename(value, node.output[0])
