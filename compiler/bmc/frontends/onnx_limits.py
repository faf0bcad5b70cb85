"""Refuses an .onnx model that is small and would take for ever: by its functions and its loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bmc import errors, limits
from bmc.errors import BmcError
from bmc.frontends import call_tree, onnx_graph
from bmc.frontends.call_tree import Function
from bmc.frontends.onnx_graph import graphs_of, nodes_within
from bmc.limits import Limits


def check(model: Any, name: str, allowed: Limits) -> None:
    """Checks a ModelProto that onnx accepts; raises BmcError for the first that found() yields."""
    errors.raise_first(found(model, name, allowed))


def found(model: Any, name: str, allowed: Limits) -> Iterator[BmcError]:
    """Yields what asks for too much, before anything writes out a model's functions or runs its loops.

    That is a function that calls itself or becomes more than `allowed.nodes` ops, and each loop that the importer does
    not know or that has more than `allowed.trips` trips.
    """
    functions = {_key(f.domain, f.name): _function(f.node) for f in model.functions}
    try:
        call_tree.check({"the graph": _function(model.graph.node), **functions}, name, allowed)
    except BmcError as error:
        yield error
    for function in model.functions:
        yield from _loops(function.node, onnx_graph.constants(function), name, allowed)
    yield from _loops(model.graph.node, onnx_graph.constants(model.graph), name, allowed)


def ops(model: Any) -> Counter[str]:
    """Returns how many ops of each kind the graphs of a ModelProto have, with each function once."""
    graphs = (model.graph, *model.functions)
    return Counter(node.op_type for graph in graphs for node in nodes_within(graph.node))


def _key(domain: str, name: str) -> str:
    return f"{domain}.{name}".lstrip(".")


def _function(nodes: Any) -> Function:
    found = list(nodes_within(nodes))
    return Function(0, [_key(node.domain, node.op_type) for node in found])


def _loops(
    nodes: Any, constants: dict[str, Any], source: str, allowed: Limits
) -> Iterator[BmcError]:
    for node in nodes:
        if node.op_type == "Loop" and not node.domain:
            yield from _loop(node, constants, source, allowed)
        for graph in graphs_of(node):
            within = {**constants, **onnx_graph.constants(graph)}
            yield from _loops(graph.node, within, source, allowed)


def _loop(node: Any, constants: dict[str, Any], source: str, allowed: Limits) -> Iterator[BmcError]:
    where = f"{node.name or next(iter(node.output), 'Loop')} in {source}"
    (body,) = graphs_of(node)
    if not node.input[0] or not _goes_on(body):
        yield BmcError(
            "op-rejected",
            "IREE's importer takes op 'Loop' only with a number of trips and without a test that ends it",
            where=where,
            hint="give the loop a number of trips, and let trips that are too many change nothing",
        )
    count = _scalar(constants.get(node.input[0]))
    if count is not None and count > allowed.trips:
        yield limits.exceeded(
            "trips", count, f"op 'Loop' has {count:,} trips, more than {allowed.trips:,}", where
        )


def _goes_on(body: Any) -> bool:
    """Whether a loop's body passes on the condition that it gets, or one that is always true."""
    made = {output: node for node in body.node for output in node.output}
    constants = onnx_graph.constants(body)
    value = body.output[0].name
    while value in made and made[value].op_type == "Identity":
        value = made[value].input[0]
    return value == body.input[1].name or bool(_scalar(constants.get(value)))


def _scalar(tensor: Any) -> int | None:
    """Returns a constant of one element, None for anything else."""
    from onnx import numpy_helper

    if tensor is None:
        return None
    try:
        array = numpy_helper.to_array(tensor)
    except (KeyError, TypeError, ValueError):
        return None  # OnnxFile.weights() reports this.
    return int(array.reshape(-1)[0]) if array.size == 1 else None
