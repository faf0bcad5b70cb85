"""Lets an ONNX Loop write what its steps return into a tensor that it hands on, because IREE's importer stacks nothing.

Only loops of a number of trips that is known, and that nothing ends earlier.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.frontends.onnx_graph import Graph, attributes


def apply(model: Any) -> bool:
    """Changes a ModelProto with inferred shapes, which have to be inferred again; returns whether it did."""
    graph = Graph(model.graph)
    changed = False
    for node in list(graph.proto.node):
        if node.op_type == "Loop" and node.domain in ("", "ai.onnx"):
            changed = _begin(graph, node) or changed
            changed = _carry(graph, node) or changed
        graph.nodes.append(node)
    graph.finish()
    return changed


def _begin(graph: Graph, node: Any) -> bool:
    """Gives a loop without a first condition one that is true, because the importer knows no other."""
    if node.input[1]:
        return False
    node.input[1] = graph.initializer(np.array(True), node)
    return True


def _carry(graph: Graph, node: Any) -> bool:
    from onnx import helper, numpy_helper

    body, states = attributes(node)["body"], len(node.input) - 2
    trips = graph.constant(node.input[0]) if node.input[0] else None
    stacked = list(zip(body.output[1 + states :], node.output[states:], strict=False))
    is_whole = len(body.output) == 1 + len(node.output)
    if not stacked or not is_whole or trips is None or not _goes_on(graph, node, body):
        return False
    count = int(trips.reshape(-1)[0])
    inner = Graph(body, graph)
    inner.nodes = list(body.node)
    rows = [inner.shape(value.name) for value, _ in stacked]
    elements = [inner.element(value.name) for value, _ in stacked]
    if count < 1 or None in rows or 0 in elements:
        return False
    place = inner.add("Reshape", (body.input[0].name, np.array([1, 1])), node)
    carried, handed, starts, results = [], [], [], []
    for (value, name), row, element in zip(stacked, rows, elements, strict=True):
        shape = (count, *(row or ()))
        before, after = inner.new(node), inner.new(node)
        each = inner.add("Reshape", (value.name, np.array([1, *shape[1:]])), node)
        written = inner.add("ScatterND", (before, place, each), node)
        inner.rename(written, after)
        carried.append(helper.make_tensor_value_info(before, element, shape))
        handed.append(helper.make_tensor_value_info(after, element, shape))
        # Every element is overwritten.
        zero = np.zeros(1, helper.tensor_dtype_to_np_dtype(element))
        filled = numpy_helper.from_array(zero)
        starts.append(graph.add("ConstantOfShape", (np.array(shape),), node, value=filled))
        result = name or graph.new(node)
        results.append(result)
        known = {value.name for value in (*graph.proto.value_info, *graph.proto.output)}
        if result not in known:
            graph.proto.value_info.append(helper.make_tensor_value_info(result, element, shape))
    inner.finish()
    body.input.extend(carried)
    del body.output[1 + states :]
    body.output.extend(handed)
    node.input.extend(starts)
    del node.output[states:]
    node.output.extend(results)
    return True


def _goes_on(graph: Graph, node: Any, body: Any) -> bool:
    """Whether no condition can end a loop."""
    first = graph.constant(node.input[1]) if node.input[1] else np.array(True)
    makers = {output: inner for inner in body.node for output in inner.output}
    name = body.output[0].name
    while name in makers and makers[name].op_type == "Identity":
        name = makers[name].input[0]
    inner = Graph(body, graph).constant(name)
    is_true = name == body.input[1].name or (inner is not None and bool(inner.all()))
    return is_true and first is not None and bool(first.all())
