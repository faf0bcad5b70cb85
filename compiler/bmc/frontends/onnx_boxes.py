"""ONNX's NonMaxSuppression as a loop that takes the best box of every class at a time, as onnxruntime chooses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.frontends import onnx_loops
from bmc.frontends.onnx_graph import Graph, attributes

_F32, _INT64 = 1, 7
_LEAST = np.array(np.finfo(np.float32).min)
_ZERO, _HALF, _ONE, _NONE = (np.array(number, np.float32) for number in (0, 0.5, 1, -1))


def selected(graph: Graph, node: Any) -> tuple[str, tuple[int, int, int]] | None:
    """Returns the numbers of the chosen boxes, -1 for none, in order of batch, class and choice, and that shape.

    Args:
      graph, node: the graph, and the NonMaxSuppression that this helps to replace.

    Returns:
      f32 [batch * classes * most], and (batch, classes, most); None if a shape is not known or no box may be chosen.
    """
    boxes, scores, most, overlap, least = [*node.input, *[""] * 3][:5]
    shape = graph.shape(scores)
    limit = graph.constant(most) if most else None
    # onnxruntime says later what is wrong with a model that has other ranks.
    if not most or shape is None or len(shape) != 3 or len(graph.shape(boxes) or ()) != 3:
        return None
    if limit is not None and limit.size != 1:
        return None
    batch, classes, count = shape
    most_boxes = count if limit is None else min(int(limit.reshape(-1)[0]), count)
    if most_boxes < 1 or not batch * classes:
        return None
    given = _Boxes.of(graph, node, boxes)
    threshold = graph.add("Reshape", (overlap, np.array([], np.int64)), node) if overlap else _ZERO
    alive = graph.add("Expand", (_ONE, np.array(shape)), node)
    if least:
        bound = graph.add("Reshape", (least, np.array([], np.int64)), node)
        alive = graph.add("Cast", (graph.add("Greater", (scores, bound), node),), node, to=_F32)
    steps = np.arange(count)
    end = graph.add("Reshape", (most, np.array([], np.int64)), node) if limit is None else ""

    def step(number: str, states: list[str]) -> tuple[str, list[str]]:
        (left,) = states
        is_left = graph.add("Greater", (left, _HALF), node)
        best = graph.add("Where", (is_left, scores, _LEAST), node)
        best = graph.add("ArgMax", (best,), node, axis=2, keepdims=1)
        any_left = graph.add("ReduceMax", (left, np.array([2])), node, keepdims=1)
        is_any = graph.add("Greater", (any_left, _HALF), node)
        if end:
            is_any = graph.add("And", (is_any, graph.add("Less", (number, end), node)), node)
        gone = given.overlapping(graph, node, best, (batch, count), threshold)
        gone = graph.add("Or", (gone, graph.add("Equal", (best, steps), node)), node)
        chosen = graph.add("Cast", (best,), node, to=_F32)
        row = graph.add("Where", (is_any, chosen, _NONE), node)
        return row, [graph.add("Where", (gone, _ZERO, left), node)]

    # Every step is overwritten.
    first = graph.add("Expand", (_NONE, np.array([most_boxes, batch, classes])), node)
    rows = (first, (most_boxes, batch, classes))
    made = onnx_loops.over_steps(graph, node, rows, [(alive, shape)], step)[0]
    made = graph.add("Transpose", (made,), node, perm=[1, 2, 0])
    flat = graph.add("Reshape", (made, np.array([-1])), node)
    return flat, (batch, classes, most_boxes)


@dataclass(frozen=True, slots=True)
class _Boxes:
    """Names of the lower bounds, the upper bounds and the areas of all boxes: f32 [batch, 1, boxes]."""

    low: tuple[str, str]
    high: tuple[str, str]
    area: str

    @classmethod
    def of(cls, graph: Graph, node: Any, boxes: str) -> _Boxes:
        """Takes boxes [batch, boxes, 4] apart, of two corners, or of a center and sizes."""
        turned = graph.add("Transpose", (boxes,), node, perm=[0, 2, 1])
        parts = []
        for place in range(4):
            cut = [np.array([number]) for number in (place, place + 1, 1)]
            parts.append(graph.add("Slice", (turned, *cut), node))
        low, high = [], []
        for first, second in ((parts[0], parts[2]), (parts[1], parts[3])):
            if attributes(node).get("center_point_box"):
                half = graph.add("Div", (second, np.array(2, np.float32)), node)
                low.append(graph.add("Sub", (first, half), node))
                high.append(graph.add("Add", (first, half), node))
            else:
                low.append(graph.add("Min", (first, second), node))
                high.append(graph.add("Max", (first, second), node))
        sizes = [graph.add("Sub", (b, a), node) for a, b in zip(low, high, strict=True)]
        return cls((low[0], low[1]), (high[0], high[1]), graph.add("Mul", sizes, node))

    def overlapping(
        self, graph: Graph, node: Any, best: str, shape: tuple[int, int], threshold: Any
    ) -> str:
        """Returns which boxes overlap the best one of a class too much: [batch, classes, boxes].

        Args:
          graph, node: the graph, and the node that this helps to replace.
          best: the number of a box for each class, int64 [batch, classes, 1].
          shape: the numbers of batches and of boxes.
          threshold: the largest quotient of intersection and union that is not too much, a scalar.
        """
        batch, count = shape
        starts = (np.arange(batch) * count).reshape(batch, 1, 1)
        places = graph.add("Add", (best, starts), node) if batch > 1 else best

        def of_best(value: str) -> str:
            flat = graph.add("Reshape", (value, np.array([-1])), node)
            return graph.add("Gather", (flat, places), node, axis=0)

        sizes = []
        for low, high in zip(self.low, self.high, strict=True):
            start = graph.add("Max", (low, of_best(low)), node)
            sizes.append(
                graph.add("Sub", (graph.add("Min", (high, of_best(high)), node), start), node)
            )
        common = graph.add("Mul", sizes, node)
        area = of_best(self.area)
        union = graph.add("Sub", (graph.add("Add", (self.area, area), node), common), node)
        positive = [
            graph.add("Greater", (value, _ZERO), node) for value in (*sizes, self.area, area, union)
        ]
        share = graph.add("Div", (common, union), node)
        too_much = graph.add("Greater", (share, threshold), node)
        for each in positive:
            too_much = graph.add("And", (too_much, each), node)
        return too_much
