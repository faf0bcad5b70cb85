"""Writes recurrent layers of ONNX whose settings IREE's importer lacks as a loop over their steps.

It takes them only forwards, and bidirectional ones only of LSTM. It knows no clip, coupled gates, peepholes, batches
first or sequences of several lengths, and three activations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.errors import BmcError
from bmc.frontends import onnx_cells, onnx_composites
from bmc.frontends.onnx_cells import (
    CELL,
    HIDDEN,
    LENGTHS,
    PEEPHOLES,
    RECURRENT,
    WEIGHT,
    given_input,
)
from bmc.frontends.onnx_graph import Graph, attributes, node_name, set_attributes

_KINDS = ("GRU", "LSTM", "RNN")
# The activations that the importer computes.
_IMPORTED = (b"Relu", b"Sigmoid", b"Tanh")


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces such a layer; returns whether it did.

    Raises:
      BmcError: it has settings that the importer lacks, and no known sizes, or an activation for which ONNX has no op.
    """
    if node.op_type not in _KINDS:
        return False
    given = attributes(node)
    shape, weights = graph.shape(node.input[0]), graph.shape(node.input[RECURRENT])
    if shape is None or weights is None:
        if given.get("layout") or _is_special(graph, node, None):
            raise BmcError(
                "op-rejected",
                f"op '{node.op_type}' has settings that need known sizes",
                where=node_name(node),
                hint="export the layer with static shapes",
            )
        return False
    size = weights[-1]
    if not given.get("layout"):
        return _directions(graph, node, (*shape[:2], size))
    layer = type(node)()
    layer.CopyFrom(node)
    set_attributes(layer, layout=0)
    layer.output[:] = [graph.new(node) if name else "" for name in node.output]
    for place in (0, HIDDEN, CELL):
        if given_input(node, place):
            layer.input[place] = graph.add("Transpose", [node.input[place]], node, perm=[1, 0, 2])
    if not _directions(graph, layer, (shape[1], shape[0], size)):
        graph.nodes.append(layer)
    for name, wanted in zip(layer.output, node.output, strict=True):
        if wanted:
            perm = [2, 0, 1, 3] if name == layer.output[0] else [1, 0, 2]
            graph.rename(graph.add("Transpose", [name], node, perm=perm), wanted)
    return True


def _is_special(graph: Graph, node: Any, steps: int | None) -> bool:
    """Whether the importer ignores something of the layer, or lacks it."""
    given = attributes(node)
    if any(given.get(key) for key in ("clip", "input_forget")) or given_input(node, PEEPHOLES):
        return True
    if given_input(node, LENGTHS):
        lengths = graph.constant(node.input[LENGTHS])
        if lengths is None or (lengths != steps).any():
            return True
    return any(name not in _IMPORTED for name in given.get("activations", ()))


def _directions(graph: Graph, node: Any, shape: tuple[int, ...]) -> bool:
    """Computes each direction forwards, one of them on reversed steps; returns whether it did.

    Args:
      graph, node: the layer, whose steps come first.
      shape: how many steps, sequences and numbers of a state there are.
    """
    given = attributes(node)
    direction = given.get("direction", b"forward")
    special = _is_special(graph, node, shape[0])
    if not special and given_input(node, LENGTHS):
        node.input[LENGTHS] = ""
    usual = direction == b"forward" or (direction == b"bidirectional" and node.op_type == "LSTM")
    if usual and not special:
        return False
    count = 2 if direction == b"bidirectional" else 1
    width = (graph.shape(node.input[WEIGHT]) or (0,))[-1]
    functions = onnx_cells.activations(node, count) if special else []
    outputs: list[list[str]] = []
    for index in range(count):
        inputs = [_half(graph, node, name, index, count)
                  if name and place not in (0, LENGTHS) else name
                  for place, name in enumerate(node.input)]  # fmt: skip
        reverse = direction == b"reverse" or index == 1
        if reverse:
            inputs[0] = _reversed(graph, node, inputs[0], (*shape[:2], width), 1)
        layer = _layer(graph, node, inputs, index, count)
        if special:
            own = functions[index * len(functions) // count :]
            made = onnx_cells.steps(graph, layer, shape, own)
        else:
            graph.nodes.append(layer)
            made = list(layer.output)
        if reverse and node.output[0]:
            made[0] = _reversed(graph, node, made[0], (shape[0], 1, *shape[1:]), 2)
        outputs.append(made)
    for number, (wanted, *parts) in enumerate(zip(node.output, *outputs, strict=False)):
        if wanted:
            # Directions are axis 1 of all steps, and axis 0 of the last state.
            graph.rename(graph.add("Concat", parts, node, axis=int(number == 0)), wanted)
    return True


def _layer(graph: Graph, node: Any, inputs: list[str], index: int, count: int) -> Any:
    """Returns a node, in no graph, of one direction, forwards."""
    from onnx import helper

    given = attributes(node)
    given.pop("direction", None)
    if names := given.get("activations"):
        each = len(names) // count
        given["activations"] = names[index * each : (index + 1) * each]
    outputs = [graph.new(node) for _ in node.output]
    return helper.make_node(node.op_type, inputs, outputs, name=node_name(node), **given)


def _reversed(graph: Graph, node: Any, value: str, shape: tuple[int, ...], batch: int) -> str:
    if lengths := given_input(node, LENGTHS):
        return onnx_composites.reversed_steps(graph, node, value, lengths, shape, batch, 0)
    return graph.add("Gather", (value, np.arange(shape[0])[::-1].copy()), node, axis=0)


def _half(graph: Graph, node: Any, name: str, index: int, count: int) -> str:
    """Returns the part of a weight or an initial state that belongs to one direction."""
    if count == 1:
        return name
    bounds = [np.array([i], np.int64) for i in (index, index + 1, 0)]
    return graph.add("Slice", (name, *bounds), node)
