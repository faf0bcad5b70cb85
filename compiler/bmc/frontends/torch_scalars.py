"""Gives tensors without dimensions one where an op works along a dimension, because torch-mlir fails or never ends."""

from __future__ import annotations

import operator
from typing import Any

from bmc.frontends.torch_windows import arguments, call

_DIMENSIONS = {"dim", "dims"}
_TENSORS = ("self", "index", "src")


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program, which its caller compiles again."""
    for node in list(program.graph.nodes):
        if node.op != "call_function" or not hasattr(node.target, "_schema"):
            continue
        given = arguments(node)
        if given.keys() & _DIMENSIONS and _is_scalar(given.get("self")) and _stays(node):
            _widen(program.graph, node, given)


def _is_scalar(value: Any) -> bool:
    import torch

    found = value.meta.get("val") if isinstance(value, torch.fx.Node) else None
    return isinstance(found, torch.Tensor) and found.ndim == 0


def _stays(node: Any) -> bool:
    """Whether all results have no dimensions either, unlike that of unsqueeze."""
    found = node.meta["val"]
    return all(each.ndim == 0 for each in (found if isinstance(found, (list, tuple)) else [found]))


def _widen(graph: Any, node: Any, given: dict[str, Any]) -> None:
    import torch

    aten = torch.ops.aten
    for name in _TENSORS:
        if _is_scalar(given.get(name)):
            given[name] = call(graph, node, aten.unsqueeze.default, (given[name], 0))
    names = [each.name for each in node.target._schema.arguments if not each.kwarg_only]
    operands = tuple(given[name] for name in names)
    made = call(graph, node, node.target, operands, **node.kwargs)
    several = isinstance(node.meta["val"], (list, tuple))
    for old in list(node.users) if several else [node]:
        new = made
        if several:
            new = call(graph, node, operator.getitem, (made, old.args[1]))
        old.replace_all_uses_with(call(graph, node, aten.reshape.default, (new, [])))
        graph.erase_node(old)
    if several:
        graph.erase_node(node)
