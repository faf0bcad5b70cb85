"""Pads images of quantized convolutions in a node of its own, where there is more on one side than on the other.

For such a QLinearConv or ConvInteger, IREE's importer makes a padding without a number and crashes.
"""

from __future__ import annotations

from typing import Any

# Op -> the place of the image's zero point among its inputs.
_ZERO_POINT = {"QLinearConv": 2, "ConvInteger": 2}


def apply(model: Any) -> None:
    """Changes such nodes of a ModelProto, whose opset has Pad with its widths as an input."""
    nodes = []
    for node in model.graph.node:
        pads = next((each for each in node.attribute if each.name == "pads"), None)
        if node.op_type in _ZERO_POINT and pads and _is_uneven(list(pads.ints)):
            nodes.append(_padding(model.graph, node, list(pads.ints)))
            pads.ints[:] = [0] * len(pads.ints)
        nodes.append(node)
    copies = [_copied(node) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def _copied(node: Any) -> Any:
    copy = type(node)()
    copy.CopyFrom(node)
    return copy


def _is_uneven(pads: list[int]) -> bool:
    return pads[: len(pads) // 2] != pads[len(pads) // 2 :]


def _padding(graph: Any, node: Any, pads: list[int]) -> Any:
    """Returns the node that pads the image of `node` with its zero point, which `node` then reads."""
    import numpy as np
    from onnx import helper, numpy_helper

    half = len(pads) // 2
    widths = np.array([0, 0, *pads[:half], 0, 0, *pads[half:]], np.int64)
    name = f"{node.output[0]}__padded"
    graph.initializer.append(numpy_helper.from_array(widths, f"{name}_by"))
    place = _ZERO_POINT[node.op_type]
    # Without a zero point it is zero, and so is what Pad takes.
    number = list(node.input)[place : place + 1]
    made = helper.make_node("Pad", [node.input[0], f"{name}_by", *number], [name])
    made.name = node.name
    node.input[0] = name
    return made
