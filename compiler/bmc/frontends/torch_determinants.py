"""Expands determinants of few rows, because torch-mlir divides by numbers that may be zero and exchanges no rows."""

from __future__ import annotations

import operator
from typing import Any

from bmc.errors import BmcError
from bmc.frontends import torch_places
from bmc.frontends.torch_windows import call

_MOST_ROWS = 4


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program, which its caller compiles again.

    Raises:
      BmcError: a determinant has too many rows.
    """
    import torch

    aten = torch.ops.aten
    made = {
        aten._linalg_det.default: _determinant,
        aten.linalg_slogdet.default: _sign_and_logarithm,
        aten._linalg_slogdet.default: _sign_and_logarithm,
    }
    for node in list(program.graph.nodes):
        make = made.get(node.target)
        rows = node.args[0].meta["val"].shape[-1] if make else 0
        if make is None or not rows:
            continue
        if rows > _MOST_ROWS:
            raise BmcError(
                "op-rejected",
                f"op '{node.target}' of {rows} rows divides by numbers that may be zero in IREE",
                where=torch_places.line_of_trace(node.meta.get("stack_trace") or ""),
                hint=f"{_MOST_ROWS} rows are the most",
            )
        users = list(node.users)
        results = make(program.graph, node)
        # Others read what torch-mlir has not got anyway: the factors and how rows were exchanged.
        for user in users:
            if user.target is operator.getitem and user.args[1] < len(results):
                user.replace_all_uses_with(results[user.args[1]])
                program.graph.erase_node(user)
        if not node.users:
            program.graph.erase_node(node)


def _determinant(graph: Any, node: Any) -> list[Any]:
    return [_expanded(graph, node, _elements(graph, node, node.args[0]))]


def _sign_and_logarithm(graph: Any, node: Any) -> list[Any]:
    """Divides by the largest element first, because the determinant may overflow where its logarithm does not."""
    import torch

    aten = torch.ops.aten

    def made(op: Any, *args: Any) -> Any:
        return call(graph, node, op, args)

    x = node.args[0]
    largest = made(aten.amax.default, made(aten.abs.default, x), [-2, -1], True)
    is_zero = made(aten.eq.Scalar, largest, 0.0)
    scale = made(aten.masked_fill.Scalar, largest, is_zero, 1.0)
    small = _expanded(graph, node, _elements(graph, node, made(aten.div.Tensor, x, scale)))
    of_scale = made(
        aten.log.default, made(aten.reshape.default, scale, list(x.meta["val"].shape[:-2]))
    )
    of_scale = made(aten.mul.Scalar, of_scale, x.meta["val"].shape[-1])
    of_small = made(aten.log.default, made(aten.abs.default, small))
    return [made(aten.sgn.default, small), made(aten.add.Tensor, of_small, of_scale)]


def _elements(graph: Any, node: Any, x: Any) -> list[list[Any]]:
    import torch

    select, size = torch.ops.aten.select.int, x.meta["val"].shape[-1]
    rows = [call(graph, node, select, (x, -2, i)) for i in range(size)]
    return [[call(graph, node, select, (row, -1, i)) for i in range(size)] for row in rows]


def _expanded(graph: Any, node: Any, elements: list[list[Any]]) -> Any:
    """Returns a determinant, developed by its first row."""
    import torch

    aten = torch.ops.aten
    first, *others = elements
    made = None
    for place, term in enumerate(first):
        if others:
            smaller = [row[:place] + row[place + 1 :] for row in others]
            term = call(graph, node, aten.mul.Tensor, (term, _expanded(graph, node, smaller)))
        op = aten.sub.Tensor if place % 2 else aten.add.Tensor
        made = term if made is None else call(graph, node, op, (made, term))
    return made
