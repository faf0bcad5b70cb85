"""Makes models that fail smaller, as long as they fail in the same way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
from graph import Graph, Input, Node
from program import Program

Graphs = tuple[Graph, ...]


def reduce(graphs: Graphs, fails: Callable[[Graphs], bool], *, checks: int) -> Graphs:
    """Returns the smallest models found with at most so many calls of `fails`."""
    left = checks
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(graphs):
            if left == 0:
                return graphs
            left -= 1
            if fails(smaller):
                graphs, changed = smaller, True
                break
    return graphs


def _smaller(graphs: Graphs) -> Iterator[Graphs]:
    """Yields smaller variants, those that leave out the most first."""
    half = len(graphs) // 2
    if half > 1:
        yield graphs[:half]
        yield graphs[half:]
    if len(graphs) > 1:
        for index in range(len(graphs)):
            yield graphs[:index] + graphs[index + 1 :]
    for index, graph in enumerate(graphs):
        for variant in variants(graph):
            yield (*graphs[:index], variant, *graphs[index + 1 :])


def variants(graph: Graph) -> Iterator[Graph]:
    """Yields graphs with one part less, or a smaller one, that PyTorch can run."""
    before = graph.needed()
    for candidate in _candidates(before):
        candidate = candidate.needed()
        if candidate != graph and candidate.nodes and _runs(candidate):
            yield candidate


def _candidates(graph: Graph) -> Iterator[Graph]:
    if len(graph.outputs) > 1:
        yield from (dataclasses.replace(graph, outputs=(name,)) for name in graph.outputs)
    for state in graph.states:
        yield _with_input(graph, dataclasses.replace(state, becomes=""))
    values = _values(graph)
    for node in reversed(graph.nodes):
        if node.name not in graph.outputs:
            yield _cut(graph, node, values[node.name])
        for operand in node.args:
            if values[operand].shape == values[node.name].shape and (
                values[operand].dtype == values[node.name].dtype
            ):
                yield _bypass(graph, node, operand)
    for name in [node.args[0] for node in graph.nodes if node.name in graph.outputs]:
        if name not in graph.outputs and any(node.name == name for node in graph.nodes):
            yield dataclasses.replace(graph, outputs=(name,))
    for given in graph.inputs:
        for shape in _smaller_lists(list(given.shape), least=1):
            yield _with_input(graph, dataclasses.replace(given, shape=tuple(shape)))
        if given.dtype == "float32" and (given.scale, given.offset) != (1.0, 0.0):
            yield _with_input(graph, dataclasses.replace(given, scale=1.0, offset=0.0))
    for node in graph.nodes:
        for attrs in _smaller_attrs(node.attrs):
            yield _with_node(graph, dataclasses.replace(node, attrs=attrs))


def _smaller_attrs(attrs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key, value in attrs.items():
        options: list[Any] = []
        if value is True:
            options = [False]
        elif isinstance(value, int):
            options = _smaller_numbers(value, 0)
        elif isinstance(value, float):
            options = [1.0] if key == "weight_scale" and value != 1.0 else []
        elif isinstance(value, list) and value and all(type(item) is int for item in value):
            options = list(_smaller_lists(value, least=0))
        for option in options:
            yield {**attrs, key: option}


def _smaller_lists(values: list[int], *, least: int) -> Iterator[list[int]]:
    for index, value in enumerate(values):
        for number in _smaller_numbers(value, least):
            yield [*values[:index], number, *values[index + 1 :]]


def _smaller_numbers(value: int, least: int) -> list[int]:
    return sorted({n for n in (least, 1, value // 2, value - 1) if least <= n < value})


def _with_input(graph: Graph, changed: Input) -> Graph:
    inputs = tuple(changed if given.name == changed.name else given for given in graph.inputs)
    return dataclasses.replace(graph, inputs=inputs)


def _with_node(graph: Graph, changed: Node) -> Graph:
    nodes = tuple(changed if node.name == changed.name else node for node in graph.nodes)
    return dataclasses.replace(graph, nodes=nodes)


def _cut(graph: Graph, node: Node, value: Any) -> Graph:
    """Makes an input of a node, so that what is above it can go."""
    dtype = str(value.dtype).removeprefix("torch.")
    scale = 1.0 if dtype == "float32" else 50.0
    given = Input(node.name, tuple(value.shape), "bool" if dtype == "bool" else dtype, scale)
    nodes = tuple(other for other in graph.nodes if other is not node)
    return dataclasses.replace(graph, inputs=(*graph.inputs, given), nodes=nodes)


def _bypass(graph: Graph, node: Node, operand: str) -> Graph:
    """Puts an operand in the place of a node."""

    def renamed(name: str) -> str:
        return operand if name == node.name else name

    return dataclasses.replace(
        graph,
        inputs=tuple(dataclasses.replace(g, becomes=renamed(g.becomes)) for g in graph.inputs),
        nodes=tuple(
            dataclasses.replace(other, args=tuple(map(renamed, other.args)))
            for other in graph.nodes
            if other is not node
        ),
        outputs=tuple(dict.fromkeys(map(renamed, graph.outputs))),
    )


def _values(graph: Graph) -> dict[str, Any]:
    program = Program(graph)
    values = dict(
        zip(
            [given.name for given in (*graph.arguments, *graph.states)],
            [*program.inputs(0), *program.initial()],
            strict=True,
        )
    )
    with torch.no_grad():
        for node in graph.nodes:
            values[node.name] = program.apply(node, values)
    return values


def _runs(graph: Graph) -> bool:
    """Whether PyTorch computes the graph, its outputs are no inputs, and its states keep their type."""
    try:
        values = _values(graph)
    except Exception:  # whatever PyTorch raises for operands that do not fit
        return False
    nodes = {node.name for node in graph.nodes}
    return all(name in nodes and values[name].numel() for name in graph.outputs) and all(
        values[state.becomes].shape == values[state.name].shape
        and values[state.becomes].dtype == values[state.name].dtype
        for state in graph.states
    )
