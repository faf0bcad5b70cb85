"""Finds medians and k-th smallest elements by sorting, because torch-mlir has nothing for them."""

from __future__ import annotations

import operator
from typing import Any

from bmc.frontends.torch_windows import arguments, call, replace_parts


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program, which its caller compiles again."""
    import torch

    aten = torch.ops.aten
    graph = program.graph
    for node in list(graph.nodes):
        if node.target is aten.median.default:
            flat = call(graph, node, aten.reshape.default, (node.args[0], [-1]))
            node.replace_all_uses_with(_median(graph, node, flat, 0, False)[0])
            graph.erase_node(node)
        elif node.target is aten.median.dim:
            given = arguments(node)
            replace_parts(
                graph, node, _median(graph, node, given["self"], given["dim"], given["keepdim"])
            )
        elif node.target is aten.kthvalue.default:
            given = arguments(node)
            found = _smallest(graph, node, given["self"], given["dim"], given["k"] - 1)
            replace_parts(graph, node, _shaped(graph, node, found, given["dim"], given["keepdim"]))


def _median(graph: Any, node: Any, x: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """Returns the lower one of two medians, or the first NaN if there is one, and where it was."""
    import torch

    aten = torch.ops.aten
    value = x.meta["val"]
    found, place = _smallest(graph, node, x, dim, (value.shape[dim] - 1) // 2)
    if value.dtype.is_floating_point:
        nans = call(graph, node, aten.isnan.default, (x,))
        nans = call(graph, node, aten.to.dtype, (nans, torch.int32))
        has_nan = call(graph, node, aten.amax.default, (nans, [dim], True))
        has_nan = call(graph, node, aten.gt.Scalar, (has_nan, 0))
        first = call(graph, node, aten.argmax.default, (nans, dim, True))
        found = call(graph, node, aten.masked_fill.Scalar, (found, has_nan, float("nan")))
        place = call(graph, node, aten.where.self, (has_nan, first, place))
    return _shaped(graph, node, (found, place), dim, keepdim)


def _smallest(graph: Any, node: Any, x: Any, dim: int, before: int) -> tuple[Any, Any]:
    """Returns the smallest element along a dimension but those `before` it, and where it was."""
    import torch

    aten = torch.ops.aten
    ordered = call(graph, node, aten.sort.stable, (x,), stable=True, dim=dim)
    parts = (call(graph, node, operator.getitem, (ordered, part)) for part in range(2))
    found, place = (
        call(graph, node, aten.slice.Tensor, (part, dim, before, before + 1)) for part in parts
    )
    return found, place


def _shaped(
    graph: Any, node: Any, found: tuple[Any, Any], dim: int, keepdim: bool
) -> tuple[Any, Any]:
    import torch

    if keepdim:
        return found
    squeeze = torch.ops.aten.squeeze.dim
    value, place = (call(graph, node, squeeze, (each, dim)) for each in found)
    return value, place
