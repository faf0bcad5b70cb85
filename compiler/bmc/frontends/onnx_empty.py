"""Makes constants of tensors without elements, whatever computes them, because IREE's importer crashes over some."""

from __future__ import annotations

from typing import Any

from bmc.frontends.onnx_graph import Graph, node_name


def rewrite(graph: Graph, node: Any) -> bool:
    """Writes a node whose results are all without elements as constants; returns whether it did."""
    made = [name for name in node.output if name]
    if node.op_type == "Constant" or not all(0 in (graph.shape(name) or ()) for name in made):
        return False
    from onnx import helper

    for name in made:
        value = helper.make_tensor(name, graph.element(name), graph.shape(name), [])
        graph.nodes.append(
            helper.make_node("Constant", [], [name], name=node_name(node), value=value)
        )
    return True
