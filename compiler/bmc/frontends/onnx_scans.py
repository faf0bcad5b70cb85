"""Writes out ONNX's Scan, step after step, because IREE's importer does not know it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.errors import BmcError
from bmc.frontends import onnx_graph
from bmc.frontends.onnx_graph import Graph, attributes, node_name

_MOST_NODES = 20_000


def apply(model: Any) -> bool:
    """Changes a ModelProto with inferred shapes, which have to be inferred again; returns whether it did.

    Raises:
      BmcError: all the steps are too many ops.
    """
    graph = Graph(model.graph)
    changed = False
    for node in list(graph.proto.node):
        if node.op_type == "Scan" and not node.domain and _write_out(graph, node):
            changed = True
        else:
            graph.nodes.append(node)
    graph.finish()
    return changed


def _write_out(graph: Graph, node: Any) -> bool:
    given = attributes(node)
    body, count = given["body"], given["num_scan_inputs"]
    state, scanned = list(node.input[:-count]), node.input[-count:]
    results = len(body.output) - len(state)
    axes = given.get("scan_input_axes", [0] * count)
    shapes = [graph.shape(name) for name in scanned]
    steps = {shape[axis] for shape, axis in zip(shapes, axes, strict=True) if shape}
    if None in shapes or len(steps) != 1:
        return False
    (trips,) = steps
    if trips * len(body.node) > _MOST_NODES:
        raise BmcError(
            "op-rejected",
            f"op 'Scan' of {trips} steps and {len(body.node)} ops in each is too much to be written out",
            where=node_name(node),
            hint=f"give the model fewer steps at a time; {_MOST_NODES:,} ops are the most",
        )
    backwards = given.get("scan_input_directions", [0] * count)
    stacked: list[list[str]] = [[] for _ in range(results)]
    for step in range(trips):
        cuts = []
        for name, axis, back in zip(scanned, axes, backwards, strict=True):
            place = np.array(trips - 1 - step if back else step)
            cuts.append(graph.add("Gather", (name, place), node, axis=axis))
        outputs = _step(graph, node, body, (*state, *cuts))
        state = outputs[: len(state)]
        for rows, made in zip(stacked, outputs[len(state) :], strict=True):
            rows.append(made)
    to_axes = given.get("scan_output_axes", [0] * results)
    reverse = given.get("scan_output_directions", [0] * results)
    for rows, axis, back, wanted in zip(
        stacked, to_axes, reverse, node.output[len(state) :], strict=True
    ):
        if wanted:
            each = [graph.add("Unsqueeze", (row, np.array([axis])), node) for row in rows]
            graph.rename(graph.add("Concat", each[::-1] if back else each, node, axis=axis), wanted)
    for value, wanted in zip(state, node.output, strict=False):
        if wanted:
            graph.rename(graph.add("Identity", (value,), node), wanted)
    return True


def _step(graph: Graph, node: Any, body: Any, inputs: tuple[str, ...]) -> list[str]:
    """Puts in the nodes of one step; returns the names of its outputs."""
    names = dict(zip((value.name for value in body.input), inputs, strict=True))
    for item in body.initializer:
        names[item.name] = graph.new(node)
        copy = graph.proto.initializer.add()
        copy.CopyFrom(item)
        copy.name = names[item.name]
    names |= {name: graph.new(node) for inner in body.node for name in inner.output if name}
    for inner in body.node:
        copy = type(inner)()
        copy.CopyFrom(inner)
        onnx_graph.rename(copy, names)
        graph.nodes.append(copy)
    return [names.get(value.name, value.name) for value in body.output]
