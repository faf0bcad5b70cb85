"""Makes reductions and pools of half floats ones of floats, as onnxruntime does, because the halves overflow."""

from __future__ import annotations

from typing import Any

from bmc.frontends.onnx_graph import Graph, graphs_of

_OVERFLOWING = (
    "Acosh", "Asinh", "AveragePool", "CumProd", "CumSum", "GlobalAveragePool", "GlobalLpPool", "LogSoftmax",
    "LpNormalization", "LpPool", "MeanVarianceNormalization", "RMSNormalization", "ReduceL1", "ReduceL2",
    "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare",
)  # fmt: skip


def apply(model: Any) -> bool:
    """Changes a ModelProto with inferred shapes, which have to be inferred again; returns whether it did."""
    return _apply(Graph(model.graph))


def _apply(graph: Graph) -> bool:
    from onnx import TensorProto

    halves = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
    changed = False
    for node in list(graph.proto.node):
        for inner in graphs_of(node):
            changed = _apply(Graph(inner, graph)) or changed
        if (
            node.op_type not in _OVERFLOWING
            or node.domain not in ("", "ai.onnx")
            or (element := graph.element(node.input[0])) not in halves
        ):
            graph.nodes.append(node)
            continue
        changed = True
        result = node.output[0]
        for place, name in enumerate(node.input):
            if name and graph.element(name) == element:
                node.input[place] = graph.add("Cast", [name], node, to=TensorProto.FLOAT)
        node.output[0] = graph.new(node)
        graph.nodes.append(node)
        graph.rename(graph.add("Cast", [node.output[0]], node, to=element), result)
    graph.finish()
    return changed
