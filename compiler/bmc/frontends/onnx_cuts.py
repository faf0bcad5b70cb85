"""Finds every node of an .onnx model that the converter rejects: it cuts out the one that is named, and tries again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bmc.errors import BmcError
from bmc.frontends import onnx, onnx_graph
from bmc.frontends.onnx_file import OnnxFile

# How many different nodes are looked for. Each takes a conversion, of a second or less.
_ROUNDS = 12
# Larger constants become inputs, because what is converted here is thrown away.
_SMALL_BYTES = 1024


def rejected(static: Any, file: OnnxFile) -> Iterator[BmcError]:
    """Yields the converter's error for each node that it rejects, and the same for nodes like it.

    Args:
      static: the ModelProto with static shapes, which this changes.
      file: the model, for its name.
    """
    _without_weights(static.graph)
    unknown = [node for node in static.graph.node if _is_foreign(node, static.graph)]
    for node in unknown:
        yield BmcError(
            "op-rejected",
            f"ONNX does not know which shapes op '{node.domain}.{node.op_type}' returns",
            where=onnx_graph.node_name(node),
            hint="export the model with the ops of ONNX's own operator set",
        )
    cut(static, unknown)
    for _ in range(_ROUNDS):
        if not static.graph.output:
            return
        with tempfile.TemporaryDirectory() as out:
            try:
                onnx.convert(file, static, Path(out))
                return
            except BmcError as error:
                reason = error
        nodes = [node for node in static.graph.node if onnx_graph.node_name(node) == reason.where]
        if not nodes:
            yield reason
            return
        wanted = _kind(nodes[0], static.graph)
        alike = [node for node in static.graph.node if _kind(node, static.graph) == wanted]
        for node in alike:
            where = onnx_graph.node_name(node)
            yield BmcError(reason.kind, reason.message, where=where, hint=reason.hint)
        cut(static, alike)


def _is_foreign(node: Any, graph: Any) -> bool:
    """Whether a node is of another operator set, and ONNX does not know the shapes of its results."""
    known = {value.name for value in (*graph.value_info, *graph.output) if _has_type(value)}
    return node.domain not in ("", "ai.onnx") and not known.issuperset(filter(None, node.output))


def cut(model: Any, nodes: Sequence[Any]) -> None:
    """Makes inputs of what nodes of the main graph return, and drops what reads a value of unknown type."""
    graph = model.graph
    known = {value.name: value for value in (*graph.output, *graph.value_info) if _has_type(value)}
    results = {name for node in nodes for name in node.output if name}
    unknown: set[str] = set()
    for node in nodes:
        for name in filter(None, node.output):
            if name in known:
                graph.input.append(known[name])
            else:
                unknown.add(name)
        graph.node.remove(node)
    for node in list(graph.node):
        if unknown & _read(node):
            unknown.update(filter(None, node.output))
            graph.node.remove(node)
    for output in list(graph.output):
        if output.name in unknown | results:
            graph.output.remove(output)


def _has_type(value: Any) -> bool:
    tensor = value.type.tensor_type
    return tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim)


def _read(node: Any) -> set[str]:
    """Returns what a node and the graphs within it read."""
    return {name for each in onnx_graph.nodes_within([node]) for name in each.input}


def _without_weights(graph: Any) -> None:
    from onnx import helper

    large = [tensor for tensor in graph.initializer if tensor.ByteSize() > _SMALL_BYTES]
    declared = {value.name for value in graph.input}
    for tensor in large:
        if tensor.name not in declared:
            graph.input.append(
                helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            )
        graph.initializer.remove(tensor)


def _kind(node: Any, graph: Any) -> tuple[Any, ...]:
    """Returns what decides whether the converter takes a node: its op, attributes and constant operands."""
    constants = onnx_graph.constants(graph)
    attributes = sorted(attribute.SerializeToString() for attribute in node.attribute)
    operands = tuple(name in constants if name else None for name in node.input)
    return node.domain, node.op_type, tuple(attributes), operands
