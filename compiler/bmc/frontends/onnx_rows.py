"""Follows values of an ONNX graph of which only the first elements along one axis are real.

Ops that treat each of these elements alone keep the others apart. In front of any other op, the number would have to be
known, so such models are left as they are, and refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bmc.frontends.onnx_bounded import Rows
from bmc.frontends.onnx_graph import Graph, attributes, graphs_of, nodes_within

# Each element of the result depends on one of every input, broadcast.
_ELEMENTWISE = frozenset({
    "Abs", "Add", "And", "Cast", "Ceil", "Clip", "Cos", "Div", "Equal", "Erf", "Exp", "Floor", "Greater",
    "GreaterOrEqual", "Identity", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Min", "Mod", "Mul", "Neg", "Not",
    "Or", "Pow", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sqrt", "Sub", "Tanh", "Where", "Xor",
})  # fmt: skip
# Attribute "axis" names the only axis along which elements come together.
_ALONG = frozenset({"ArgMax", "ArgMin", "LogSoftmax", "Softmax"})

# Returns the axis of the result, None if it has none.
_Follower = Callable[[Graph, Any, dict[int, int]], int | None]


def follow(graph: Graph, rows: Mapping[str, Rows]) -> dict[str, Rows] | None:
    """Returns all such values.

    Args:
      graph: has known shapes and the nodes in order.
      rows: the first ones.

    Returns:
      them and those that follow, None if another op reads one.
    """
    found = dict(rows)
    for node in graph.proto.node:
        inner = {
            name
            for each in graphs_of(node)
            for one in nodes_within(each.node)
            for name in one.input
        }
        if inner & found.keys():
            return None
        given = [name for name in node.input if name in found]
        if not given:
            continue
        if any(graph.shape(name) is None for name in (*node.input, *node.output) if name):
            return None
        counts = {found[name].count for name in given}
        axes = {place: found[name].axis for place, name in enumerate(node.input) if name in found}
        axis = _axis(graph, node, axes) if len(counts) == 1 else None
        if axis is None:
            return None
        found[node.output[0]] = Rows(axis, counts.pop())
    return found


def _axis(graph: Graph, node: Any, axes: dict[int, int]) -> int | None:
    if node.domain not in ("", "ai.onnx") or len([name for name in node.output if name]) != 1:
        return None
    if node.op_type in _ELEMENTWISE:
        return _broadcast(graph, node, axes)
    if node.op_type in _ALONG:
        return _reduced(graph, node, axes)
    follower = _FOLLOWERS.get(node.op_type)
    return follower(graph, node, axes) if follower else None


def _rank(graph: Graph, name: str) -> int:
    return len(graph.shape(name) or ())


def _broadcast(graph: Graph, node: Any, axes: dict[int, int]) -> int | None:
    ranks = [_rank(graph, name) for name in node.input]
    behind = {ranks[place] - axis for place, axis in axes.items()}
    if len(behind) != 1:
        return None
    (from_end,) = behind
    for place, name in enumerate(node.input):
        # An optional input that is left out has no name.
        if not name or place in axes or ranks[place] < from_end:
            continue
        if (graph.shape(name) or ())[-from_end] != 1:
            return None
    return max(ranks) - from_end


def _reduced(graph: Graph, node: Any, axes: dict[int, int]) -> int | None:
    given, rank = attributes(node), _rank(graph, node.input[0])
    default = -1 if node.op_type.endswith("max") and not node.op_type.startswith("Arg") else 0
    along, axis = given.get("axis", default) % rank, axes[0]
    if along == axis:
        return None
    dropped = node.op_type.startswith("Arg") and not given.get("keepdims", 1) and along < axis
    return axis - int(dropped)


def _gather(graph: Graph, node: Any, axes: dict[int, int]) -> int | None:
    along = attributes(node).get("axis", 0) % _rank(graph, node.input[0])
    if set(axes) == {1}:
        return int(along) + axes[1]
    if set(axes) != {0} or axes[0] == along:
        return None
    return axes[0] if axes[0] < along else axes[0] + _rank(graph, node.input[1]) - 1


def _gather_nd(graph: Graph, node: Any, axes: dict[int, int]) -> int | None:
    is_row = set(axes) == {1} and axes[1] < _rank(graph, node.input[1]) - 1
    return axes[1] if is_row and not attributes(node).get("batch_dims") else None


def _slice(graph: Graph, node: Any, axes: dict[int, int]) -> int | None:
    cut = _constant_axes(graph, node, 3, _rank(graph, node.input[0]))
    return axes[0] if set(axes) == {0} and cut and axes[0] not in cut else None


def _squeeze(graph: Graph, node: Any, axes: dict[int, int]) -> int | None:
    gone = _constant_axes(graph, node, 1, _rank(graph, node.input[0]))
    if not gone or axes[0] in gone:
        return None
    return axes[0] - sum(axis < axes[0] for axis in gone)


def _unsqueeze(graph: Graph, node: Any, axes: dict[int, int]) -> int | None:
    new = graph.constant(node.input[1])
    if new is None:
        return None
    rank = _rank(graph, node.input[0]) + new.size
    added = {int(axis) % rank for axis in new.reshape(-1)}
    return [axis for axis in range(rank) if axis not in added][axes[0]]


def _transpose(graph: Graph, node: Any, axes: dict[int, int]) -> int | None:
    rank = _rank(graph, node.input[0])
    order = attributes(node).get("perm") or list(range(rank))[::-1]
    return list(order).index(axes[0])


def _concat(graph: Graph, node: Any, axes: dict[int, int]) -> int | None:
    along = attributes(node)["axis"] % _rank(graph, node.input[0])
    same = set(axes.values())
    if len(axes) != len(node.input) or len(same) != 1 or along in same:
        return None
    return same.pop()


def _constant_axes(graph: Graph, node: Any, place: int, rank: int) -> set[int]:
    """Returns the axes that an input names, none if they are not known."""
    named = graph.constant(node.input[place]) if len(node.input) > place else None
    return set() if named is None else {int(axis) % rank for axis in named.reshape(-1)}


_FOLLOWERS: dict[str, _Follower] = {
    "Concat": _concat,
    "Gather": _gather,
    "GatherND": _gather_nd,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
