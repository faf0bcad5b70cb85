"""Gives a PRelu of a model older than opset 7 slopes that broadcast: there, slopes of channels have one dimension.

Neither onnx's converter of versions nor IREE's importer does this.
"""

from __future__ import annotations

from typing import Any

_BROADCASTS = 7


def apply(model: Any, opset: int) -> None:
    """Changes such slopes in a ModelProto of an opset."""
    from onnx import helper, shape_inference

    nodes = list(model.graph.node)
    if opset >= _BROADCASTS or not any(node.op_type == "PRelu" for node in nodes):
        return
    graph = shape_inference.infer_shapes(model, data_prop=True).graph
    ranks = {
        value.name: len(value.type.tensor_type.shape.dim)
        for value in (*graph.input, *graph.value_info, *graph.output)
    } | {tensor.name: len(tensor.dims) for tensor in graph.initializer}
    del model.graph.node[:]
    for node in nodes:
        if node.op_type == "PRelu" and ranks.get(node.input[1]) == 1:
            behind = list(range(1, ranks.get(node.input[0], 0) - 1))
            if behind:
                wide = f"{node.output[0]}/slopes"
                model.graph.node.append(
                    helper.make_node("Unsqueeze", [node.input[1]], [wide], axes=behind)
                )
                node.input[1] = wide
        model.graph.node.append(node)
