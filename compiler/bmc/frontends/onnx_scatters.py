"""Writes ONNX ops that scatter, of which IREE's importer knows too few, with those that it knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.frontends.onnx_graph import Graph, attributes


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces a TensorScatter, or ScatterElements of the largest or least, of known sizes; returns whether it did."""
    shapes = [graph.shape(name) for name in node.input[:3]]
    if node.op_type == "TensorScatter" and shapes[0] and shapes[1]:
        made = _rows(graph, node, shapes[0], shapes[1])
    elif (
        node.op_type == "ScatterElements"
        and attributes(node).get("reduction") in (b"max", b"min")
        and shapes[0]
        and shapes[1]
    ):
        made = _extremes(graph, node, shapes[0], shapes[1])
    else:
        return False
    graph.rename(made, node.output[0])
    return True


def _extremes(graph: Graph, node: Any, shape: tuple[int, ...], places: tuple[int, ...]) -> str:
    """Scatters by tuples of indices."""
    given = attributes(node)
    axis = given.get("axis", 0) % len(shape)
    size, zero = np.array(shape[axis]), np.array(0)
    indices = graph.add("Cast", (node.input[1],), node, to=7)
    is_from_end = graph.add("Less", (indices, zero), node)
    from_start = graph.add("Add", (indices, size), node)
    indices = graph.add("Where", (is_from_end, from_start, indices), node)
    column = np.array([*places, 1])
    columns = [
        graph.add("Reshape", (indices, column), node)
        if each == axis
        else graph.initializer(coordinates[..., None].copy(), node)
        for each, coordinates in enumerate(np.indices(places))
    ]
    tuples = (
        graph.add("Concat", columns, node, axis=len(places)) if len(columns) > 1 else columns[0]
    )
    inputs = (node.input[0], tuples, node.input[2])
    return graph.add("ScatterND", inputs, node, reduction=given["reduction"])


def _rows(graph: Graph, node: Any, shape: tuple[int, ...], update: tuple[int, ...]) -> str:
    """Scatters an update behind what a cache holds of each sequence."""
    given = attributes(node)
    axis = given.get("axis", -2) % len(shape)
    steps = np.arange(update[axis]).reshape(
        [-1 if each == axis else 1 for each in range(len(shape))]
    )
    places = graph.initializer(steps, node)
    if len(node.input) > 2 and node.input[2]:
        starts = graph.add(
            "Reshape", (node.input[2], np.array([-1] + [1] * (len(shape) - 1))), node
        )
        places = graph.add("Add", (starts, places), node)
    if given.get("mode", b"linear") == b"circular":
        places = graph.add("Mod", (places, np.array(shape[axis])), node)
    places = graph.add("Expand", (places, np.array(update)), node)
    return graph.add("ScatterElements", (node.input[0], places, node.input[1]), node, axis=axis)
