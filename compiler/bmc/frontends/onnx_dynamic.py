"""Writes onnxruntime's dynamically quantized products and LSTM with ONNX's own ops, and these as products of matrices.

They round as onnxruntime does (its `ComputeGemm` for weights of 8 bits): a whole matrix of activations gets one scale
and one zero point, from its least and its largest element and 0. An LSTM does so once for all its inputs, and once for
the hidden state of each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.frontends import onnx_loops
from bmc.frontends.onnx_graph import Graph, attributes

_KINDS = ("DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulIntegerToFloat")
_GATES = 4
_MOST = 3.4e38  # onnxruntime's own number for no clip


def apply(model: Any) -> bool:
    """Changes a ModelProto with inferred shapes, which have to be inferred again; returns whether it did.

    Of layers that read one another, it changes the first, because ONNX does not infer what they return.
    """
    graph = Graph(model.graph)
    changed = False
    for node in list(graph.proto.node):
        is_own = node.domain == "com.microsoft" and node.op_type in _KINDS
        if (is_own and _rewrite(graph, node)) or (
            node.op_type == "MatMulInteger" and _flatten(graph, node)
        ):
            changed = True
        else:
            graph.nodes.append(node)
    graph.finish()
    return changed


def _rewrite(graph: Graph, node: Any) -> bool:
    if node.op_type == "DynamicQuantizeLSTM":
        return _lstm(graph, node)
    given = [*node.input, *[""] * 7]
    if node.op_type == "DynamicQuantizeMatMul":
        left, right, scale, zero, bias = given[:5]
        product = _product(graph, node, left, _Weight(right, scale, zero))
    else:
        left, right, left_scale, scale, left_zero, zero, bias = given[:7]
        scales = graph.add("Mul", (left_scale, scale), node)
        product = _integers(graph, node, (left, left_zero), (right, zero), scales)
    if not product:
        return False
    if bias:
        product = graph.add("Add", (product, bias), node)
    graph.rename(product, node.output[0])
    return True


def _flatten(graph: Graph, node: Any) -> bool:
    """Makes one product of matrices of activations [..., sum] and weights [sum, columns]."""
    left, right = (graph.shape(name) for name in node.input[:2])
    zeros = [graph.shape(name) for name in node.input[2:] if name]
    if left is None or right is None or len(left) < 3 or len(right) != 2 or any(zeros):
        return False
    rows = graph.add("Reshape", (node.input[0], np.array([-1, left[-1]])), node)
    sums = graph.add("MatMulInteger", [rows, *node.input[1:]], node)
    shape = np.array([*left[:-1], right[1]])
    graph.rename(graph.add("Reshape", (sums, shape), node), node.output[0])
    return True


@dataclass(frozen=True, slots=True)
class _Weight:
    """Names of a matrix [sum, columns], its scale, one or one per column, and its zero point, "" for 0."""

    matrix: str
    scale: str
    zero: str = ""


def _product(graph: Graph, node: Any, value: str, weight: _Weight) -> str:
    """Returns the product of a quantized value [..., sum] with a weight, in f32."""
    rounded, value_scale, value_zero = _quantized(graph, node, value)
    scales = graph.add("Mul", (value_scale, weight.scale), node)
    return _integers(graph, node, (rounded, value_zero), (weight.matrix, weight.zero), scales)


def _integers(
    graph: Graph, node: Any, left: tuple[str, str], right: tuple[str, str], scales: str
) -> str:
    names = [left[0], right[0], left[1], right[1]]
    while not names[-1]:
        names.pop()
    sums = graph.add("MatMulInteger", names, node)
    return graph.add("Mul", (graph.add("Cast", (sums,), node, to=1), scales), node)


def _quantized(graph: Graph, node: Any, value: str) -> tuple[str, str, str]:
    """Returns unsigned bytes, their scale and their zero point; only zeros have the scale 1."""
    zero, one, most_steps = (np.array(number, np.float32) for number in (0, 1, 255))
    least = graph.add("Min", (graph.add("ReduceMin", (value,), node, keepdims=0), zero), node)
    most = graph.add("Max", (graph.add("ReduceMax", (value,), node, keepdims=0), zero), node)
    size = graph.add("Sub", (most, least), node)
    share = graph.add("Div", (size, most_steps), node)
    is_empty = graph.add("Equal", (size, zero), node)
    scale = graph.add("Where", (is_empty, one, share), node)
    start = graph.add(
        "Round", (graph.add("Div", (graph.add("Neg", (least,), node), scale), node),), node
    )
    start = graph.add("Clip", (start, zero, most_steps), node)
    steps = graph.add("Round", (graph.add("Div", (value, scale), node),), node)
    moved = graph.add("Add", (steps, start), node)
    inside = graph.add("Clip", (moved, zero, most_steps), node)
    made = [graph.add("Cast", (name,), node, to=2) for name in (inside, start)]
    return made[0], scale, made[1]


def _lstm(graph: Graph, node: Any) -> bool:
    """Replaces the layer, each direction a product of all inputs and a loop over the steps."""
    value, weight, recurrent, bias, lengths, hidden, cell, peepholes = list(node.input)[:8]
    given = attributes(node)
    shape, weights = graph.shape(value), graph.shape(recurrent)
    names = [name.lower() for name in given.get("activations", ())]
    usual = names in ([], [b"sigmoid", b"tanh", b"tanh"] * (len(names) // 3))
    if shape is None or weights is None or lengths or peepholes or not usual:
        return False
    if given.get("input_forget") or given.get("clip", _MOST) < _MOST:
        return False
    steps, batch, _ = shape
    directions, size, _ = weights
    outputs: list[list[str]] = []
    for index in range(directions):
        backwards = index == 1 or given.get("direction") == b"reverse"
        each = [_part(graph, node, name, index) for name in (weight, recurrent)]
        scales = [_part(graph, node, name, index) for name in node.input[8:12]]
        inputs = value
        if backwards:
            inputs = graph.add("Gather", (value, np.arange(steps)[::-1].copy()), node, axis=0)
        gates = _product(
            graph, node, inputs, _Weight(each[0], scales[0], _first(graph, node, scales[1]))
        )
        state = [
            _part(graph, node, name, index)
            if name
            else graph.add("ConstantOfShape", (np.array((batch, size)),), node)
            for name in (hidden, cell)
        ]
        sums = _sums(graph, node, bias, index, size) if bias else ""
        by = _Weight(each[1], scales[2], _first(graph, node, scales[3]))
        made = _loop(graph, node, (gates, *state), by, sums, (steps, batch, size))
        if backwards:
            turned = graph.add("Gather", (made[0], np.arange(steps)[::-1].copy()), node, axis=0)
            made = [turned, *made[1:]]
        outputs.append(made)
    for number, (wanted, *parts) in enumerate(zip(node.output, *outputs, strict=False)):
        if wanted:
            # Directions are axis 1 of all steps, and axis 0 of the last states.
            axis = np.array([int(number == 0)])
            rows = [graph.add("Unsqueeze", (part, axis), node) for part in parts]
            graph.rename(graph.add("Concat", rows, node, axis=int(number == 0)), wanted)
    return True


def _part(graph: Graph, node: Any, name: str, index: int) -> str:
    """Returns what belongs to one direction."""
    found = graph.constant(name)
    if found is not None:  # Cut here, it stays a weight.
        return graph.add("Identity", (found[index],), node)
    return graph.add("Gather", (name, np.array(index)), node, axis=0)


def _first(graph: Graph, node: Any, name: str) -> str:
    """Returns the zero point of a direction, which onnxruntime wants to be the same for all columns."""
    flat = graph.add("Reshape", (name, np.array([-1])), node)
    return graph.add("Gather", (flat, np.array(0)), node, axis=0)


def _sums(graph: Graph, node: Any, bias: str, index: int, size: int) -> str:
    halves = graph.add(
        "Reshape", (_part(graph, node, bias, index), np.array([2, _GATES * size])), node
    )
    return graph.add(
        "Add", [graph.add("Gather", (halves, np.array(i)), node, axis=0) for i in (0, 1)], node
    )


def _loop(
    graph: Graph,
    node: Any,
    given: tuple[str, ...],
    weight: _Weight,
    bias: str,
    shape: tuple[int, int, int],
) -> list[str]:
    """Returns all hidden states [steps, batch, size], the last one and the last cell state."""
    steps, batch, size = shape
    gates, hidden, cell = given

    def step(number: str, states: list[str]) -> tuple[str, list[str]]:
        h, c = states
        added = graph.add("Gather", (gates, number), node, axis=0)
        added = graph.add("Add", (added, _product(graph, node, h, weight)), node)
        if bias:
            added = graph.add("Add", (added, bias), node)
        parts = []
        for place, kind in enumerate(("Sigmoid", "Sigmoid", "Sigmoid", "Tanh")):
            cut = [np.array([bound]) for bound in (place * size, (place + 1) * size, 1)]
            parts.append(graph.add(kind, (graph.add("Slice", (added, *cut), node),), node))
        enters, leaves, stays, new = parts
        kept = [graph.add("Mul", pair, node) for pair in ((stays, c), (enters, new))]
        next_c = graph.add("Add", kept, node)
        next_h = graph.add("Mul", (leaves, graph.add("Tanh", (next_c,), node)), node)
        return next_h, [next_h, next_c]

    # Every step is overwritten. Zeros would be a weight.
    cut = [np.array([place]) for place in (0, size, 2)]
    first = graph.add("Slice", (gates, *cut), node)
    states = [(name, (batch, size)) for name in (hidden, cell)]
    return onnx_loops.over_steps(graph, node, (first, shape), states, step)
