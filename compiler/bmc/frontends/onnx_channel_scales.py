"""Writes a QLinearConv whose channels have scales of their own as a Conv between conversions.

IREE's importer gets the scales of its bias and its result wrong. It knows the other form, in which the products stay
integers too.
"""

from __future__ import annotations

from typing import Any

from bmc.frontends.onnx_graph import Graph, attributes


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces such a node, if its scales are constants; returns whether it did."""
    if node.op_type != "QLinearConv":
        return False
    image, image_scale, image_zero, weight, weight_scale, weight_zero, scale, zero = node.input[:8]
    scales = [graph.constant(name) for name in (image_scale, weight_scale)]
    if scales[0] is None or scales[1] is None or scales[1].size < 2:
        return False
    inputs = [
        graph.add("DequantizeLinear", (image, image_scale, image_zero), node),
        graph.add("DequantizeLinear", (weight, weight_scale, weight_zero), node, axis=0),
    ]
    if len(node.input) > 8:
        of_bias = scales[0].reshape(()) * scales[1]
        inputs.append(graph.add("DequantizeLinear", (node.input[8], of_bias), node, axis=0))
    product = graph.add("Conv", inputs, node, **attributes(node))
    graph.rename(graph.add("QuantizeLinear", (product, scale, zero), node), node.output[0])
    return True
