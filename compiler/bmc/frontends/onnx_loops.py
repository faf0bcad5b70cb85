"""Writes the steps of a layer as ONNX's Loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends.onnx_graph import Graph


def over_steps(
    graph: Graph,
    node: Any,
    rows: tuple[str, tuple[int, ...]],
    states: Sequence[tuple[str, tuple[int, ...]]],
    step: Callable[[str, list[str]], tuple[str, list[str]]],
) -> list[str]:
    """Returns the rows that all steps made and the last states.

    Args:
      graph: gets the loop.
      node: what it replaces.
      rows: name of a value of which every row is overwritten, and its shape [steps, ...].
      states: the first states, each a name and a shape.
      step: gets the names of the step's number and of the states; adds nodes, and returns the row and the next states.
    """
    from onnx import TensorProto, helper

    (first_rows, shape), kind = rows, TensorProto.FLOAT
    number, goes_on, all_rows, *carried = (graph.new(node) for _ in range(3 + len(states)))
    with graph.body() as inside:
        made, following = step(number, carried)
        place = graph.add("Reshape", (number, np.array([1, 1])), node)
        row = graph.add("Reshape", (made, np.array([1, *shape[1:]])), node)
        next_rows = graph.add("ScatterND", (all_rows, place, row), node)
        again = graph.add("Identity", (goes_on,), node)
        # A state may be handed on as it is, or be the row too.
        following = [graph.add("Identity", (name,), node) for name in following]

    def infos(names: Sequence[str]) -> list[Any]:
        shapes = (shape, *(each for _, each in states))
        return [
            helper.make_tensor_value_info(name, kind, dims)
            for name, dims in zip(names, shapes, strict=True)
        ]

    def flag(name: str, element: int) -> Any:
        return helper.make_tensor_value_info(name, element, ())

    body = helper.make_graph(
        inside,
        f"{node.output[0]}_step",
        [flag(number, TensorProto.INT64), flag(goes_on, TensorProto.BOOL),
         *infos([all_rows, *carried])],
        [flag(again, TensorProto.BOOL), *infos([next_rows, *following])],
    )  # fmt: skip
    given: list[str | Array] = [np.array(shape[0]), np.array(True), first_rows]
    given += [name for name, _ in states]
    loop = graph.add("Loop", given, node, body=body)
    names = [loop, *(graph.new(node) for _ in states)]
    graph.nodes[-1].output.extend(names[1:])
    # ONNX infers no shapes of what a loop hands on.
    graph.proto.value_info.extend(infos(names))
    return names
