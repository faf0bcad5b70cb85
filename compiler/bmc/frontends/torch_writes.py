"""Replaces writes to a part of a tensor, which torch-mlir makes slow or wrong.

- torch.export writes the end of `y[1:]` as 2^63 - 1, and torch-mlir lists all indices up to there. It makes a scatter
  of rows that lie beside each other.
- A write where a mask is true scatters to places that only the data tell.
"""

from __future__ import annotations

import math
from typing import Any

from bmc.frontends.torch_windows import arguments, call


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program, which its caller compiles again."""
    import torch

    aten = torch.ops.aten
    for node in list(program.graph.nodes):
        if node.target is aten.slice_scatter.default:
            _slice(program.graph, node)
        elif node.target is aten.index_put.default:
            _masked(program.graph, node)


def _slice(graph: Any, node: Any) -> None:
    """Writes rows beside each other as a concatenation; gives others an end within the tensor."""
    import torch

    aten = torch.ops.aten
    given = arguments(node)
    x, part, dim, step = given["self"], given["src"], given["dim"], given["step"]
    size = x.meta["val"].shape[dim]
    start, end, _ = slice(given["start"], given["end"]).indices(size)
    if step > 1:
        node.args, node.kwargs = (x, part, dim, start, end, step), {}
        return
    pieces = [
        call(graph, node, aten.slice.Tensor, (x, dim, first, last))
        for first, last in ((0, start), (max(start, end), size))
    ]
    pieces = [piece for piece in (pieces[0], part, pieces[1]) if piece.meta["val"].shape[dim]]
    node.replace_all_uses_with(call(graph, node, aten.cat.default, (pieces, dim)))
    graph.erase_node(node)


def _masked(graph: Any, node: Any) -> None:
    """Chooses between the tensor and what is written where a mask is true, if that is the same for all these places."""
    import torch

    given = arguments(node)
    x, indices, value = given["self"], given["indices"], given["values"]
    mask = indices[0]
    if len(indices) != 1 or mask.meta["val"].dtype != torch.bool or given["accumulate"]:
        return
    aten = torch.ops.aten
    missing = x.meta["val"].ndim - mask.meta["val"].ndim
    shape = value.meta["val"].shape
    if math.prod(shape[: len(shape) - missing]) != 1:
        return
    mask = call(
        graph, node, aten.reshape.default, (mask, [*mask.meta["val"].shape, *[1] * missing])
    )
    shape = shape[max(len(shape) - missing, 0) :]
    value = call(graph, node, aten.reshape.default, (value, list(shape)))
    node.replace_all_uses_with(call(graph, node, aten.where.self, (mask, value, x)))
    graph.erase_node(node)
