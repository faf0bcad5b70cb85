"""Gives ONNX ops whose results have as many elements as they find the largest number of them, and a count.

The real elements come first. Behind them are others of the same tensors, so that every index stays valid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.frontends import onnx_boxes
from bmc.frontends.onnx_graph import Graph, attributes

# The most pairs of elements that a Unique compares.
_MOST_PAIRS = 1 << 22
_BOOL, _INT64 = 9, 7


@dataclass(frozen=True, slots=True)
class Rows:
    """Only the first elements of a value along an axis are real; `count` names the number of them, an int64 scalar."""

    axis: int
    count: str


def lower(model: Any) -> dict[str, Rows]:
    """Changes such ops of a ModelProto with inferred shapes; returns their outputs of no fixed size, by name.

    An op stays if a shape, or the most boxes that it returns, is not known.
    """
    graph = Graph(model.graph)
    rows: dict[str, Rows] = {}
    for node in list(graph.proto.node):
        make = MAKERS.get(node.op_type) if node.domain in ("", "ai.onnx") else None
        made = make(graph, node) if make else None
        if made is None:
            graph.nodes.append(node)
        else:
            rows |= made
    graph.finish()
    return rows


def _compress(graph: Graph, node: Any) -> dict[str, Rows] | None:
    flags, cut = graph.shape(node.input[1]), _along(graph, node)
    if not flags or cut is None:
        return None
    value, shape, axis = cut
    keep, size = node.input[1], min(flags[0], shape[axis])
    if size < flags[0]:
        keep = graph.add("Slice", (keep, np.array([0]), np.array([size])), node)
    order, count = _first(graph, node, keep, size)
    graph.rename(graph.add("Gather", (value, order), node, axis=axis), node.output[0])
    return {node.output[0]: Rows(axis, count)}


def _non_zero(graph: Graph, node: Any) -> dict[str, Rows] | None:
    shape = graph.shape(node.input[0])
    if not shape:
        return None
    keep = graph.add("Cast", (_flat(graph, node, node.input[0]),), node, to=_BOOL)
    order, count = _first(graph, node, keep, int(np.prod(shape)))
    columns = [
        graph.add("Unsqueeze", (column, np.array([0])), node)
        for column in _coordinates(graph, node, order, shape)
    ]
    graph.rename(graph.add("Concat", columns, node, axis=0), node.output[0])
    return {node.output[0]: Rows(1, count)}


def _unique(graph: Graph, node: Any) -> dict[str, Rows] | None:
    """Compares all pairs: an element is new if no earlier one equals it, and its place is how many new ones precede."""
    from onnx import helper

    cut = _along(graph, node)
    if cut is None:
        return None
    value, shape, axis = cut
    size = shape[axis]
    width = int(np.prod(shape)) // max(size, 1)
    if not 0 < size * size * width <= _MOST_PAIRS:
        return None
    order = [axis, *(each for each in range(len(shape)) if each != axis)]
    flat = graph.add(
        "Reshape",
        (graph.add("Transpose", (value,), node, perm=order), np.array([size, width])),
        node,
    )
    alike, less = _compared(graph, node, flat, width)
    steps = np.arange(size)
    # A NaN equals nothing, not even itself.
    first = graph.add("Where", (alike, steps, steps[:, None]), node)
    first = graph.add("ReduceMin", (first, np.array([1])), node, keepdims=0)
    is_new = graph.add("Equal", (first, steps), node)
    order_of_new = None
    if attributes(node).get("sorted", 1):
        precede = graph.add("Cast", (graph.add("And", (less, is_new), node),), node, to=_INT64)
        order_of_new = graph.add("ReduceSum", (precede, np.array([1])), node, keepdims=0)
    places, count = _places(graph, node, is_new, size, order_of_new)
    where = graph.add("ScatterElements", (steps, places, steps), node, axis=0)
    equal = graph.add("Cast", (alike,), node, to=_INT64)
    counts = graph.add("ReduceSum", (equal, np.array([1])), node, keepdims=0)
    made = (
        graph.add("Gather", (value, where), node, axis=axis),
        graph.add("Identity", (where,), node),
        graph.add("Gather", (places, first), node, axis=0),
        graph.add("Gather", (counts, where), node),
    )
    for result, name in zip(made, node.output, strict=False):
        if name:
            graph.nodes.append(helper.make_node("Identity", [result], [name]))
    axes = (axis, 0, None, 0)  # The inverse has a place for each element.
    return {
        name: Rows(each, count)
        for name, each in zip(node.output, axes, strict=False)
        if name and each is not None
    }


def _compared(graph: Graph, node: Any, flat: str, width: int) -> tuple[str, str]:
    """Returns which of the rows [size, width] are equal, and which are less than which: [size, size] each.

    less[i, j] is whether row j comes before row i.
    """
    alike = less = ""
    for column in range(width):
        each = graph.add("Slice", (flat, *(np.array([n]) for n in (column, column + 1, 1))), node)
        other = graph.add("Transpose", (each,), node, perm=[1, 0])
        equal = graph.add("Equal", (each, other), node)
        before = graph.add("Less", (other, each), node)
        less = (
            graph.add("Or", (less, graph.add("And", (alike, before), node)), node)
            if less
            else before
        )
        alike = graph.add("And", (alike, equal), node) if alike else equal
    return alike, less


def _suppressed(graph: Graph, node: Any) -> dict[str, Rows] | None:
    found = onnx_boxes.selected(graph, node)
    if found is None:
        return None
    flat, shape = found
    keep = graph.add("GreaterOrEqual", (flat, np.array(0, np.float32)), node)
    order, count = _first(graph, node, keep, int(np.prod(shape)))
    box = graph.add("Cast", (graph.add("Gather", (flat, order), node),), node, to=_INT64)
    batch, kind, _ = _coordinates(graph, node, order, shape)
    columns = [graph.add("Unsqueeze", (each, np.array([1])), node) for each in (batch, kind, box)]
    graph.rename(graph.add("Concat", columns, node, axis=1), node.output[0])
    return {node.output[0]: Rows(0, count)}


def _along(graph: Graph, node: Any) -> tuple[str, tuple[int, ...], int] | None:
    """Returns the first input, its shape and the axis of a node, which counts through all elements if it names none.

    None if the shape is not known, or has no such axis.
    """
    shape, axis = graph.shape(node.input[0]), attributes(node).get("axis")
    if not shape or not -len(shape) <= (axis or 0) < len(shape):
        return None
    if axis is None:
        return _flat(graph, node, node.input[0]), (int(np.prod(shape)),), 0
    return node.input[0], shape, axis % len(shape)


def _flat(graph: Graph, node: Any, value: str) -> str:
    return graph.add("Reshape", (value, np.array([-1])), node)


def _coordinates(graph: Graph, node: Any, places: str, shape: tuple[int, ...]) -> list[str]:
    """Returns the coordinates along each axis of elements that are numbered through."""
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    return [
        graph.add("Mod", (graph.add("Div", (places, np.array(stride)), node), np.array(size)), node)
        for stride, size in zip(strides, shape, strict=True)
    ]


def _first(graph: Graph, node: Any, keep: str, size: int) -> tuple[str, str]:
    """Returns the numbers of the kept elements, behind them the numbers of the others, and how many are kept."""
    places, count = _places(graph, node, keep, size)
    steps = np.arange(size)
    return graph.add("ScatterElements", (steps, places, steps), node, axis=0), count


def _places(
    graph: Graph, node: Any, keep: str, size: int, order: str | None = None
) -> tuple[str, str]:
    """Returns where each of `size` elements comes if those to keep are the first ones, and how many they are.

    Args:
      graph, node: the graph, and the node that this helps to replace.
      keep: a flag for each element.
      size: number of elements.
      order: the place of each element that is kept; None if they stay in their order.
    """
    ones = graph.add("Cast", (keep,), node, to=_INT64)
    until = graph.add("CumSum", (ones, np.array(0)), node)
    count = graph.add("ReduceSum", (ones, np.array([0])), node, keepdims=0)
    others = graph.add("Add", (count, graph.add("Sub", (np.arange(size), until), node)), node)
    order = order or graph.add("Sub", (until, np.array(1)), node)
    return graph.add("Where", (keep, order, others), node), count


MAKERS: dict[str, Callable[[Graph, Any], dict[str, Rows] | None]] = {
    "Compress": _compress,
    "NonMaxSuppression": _suppressed,
    "NonZero": _non_zero,
    "Unique": _unique,
}
