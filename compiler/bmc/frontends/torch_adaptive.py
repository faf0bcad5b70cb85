"""Writes adaptive maximum pools of uneven windows with other ops, because IREE computes only those of even ones.

Window i of n begins at the element i * size / n, rounded down, and ends before (i + 1) * size / n, rounded up. Where
these are not all of one size and equally far apart, the largest element of each is found, first along one dimension
and then along the other.
"""

from __future__ import annotations

import operator
from typing import Any

from bmc.errors import BmcError
from bmc.frontends import torch_places
from bmc.frontends.torch_windows import call, replace_parts

# One after the other, as each is a few ops.
_MOST_WINDOWS = 64


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program, which its caller compiles again.

    Raises:
      BmcError: there are too many uneven windows, or their places are read.
    """
    import torch

    for node in list(program.graph.nodes):
        if node.target is torch.ops.aten.adaptive_max_pool2d.default:
            x, counts = node.args
            axes = list(map(_windows, x.meta["val"].shape[-2:], counts))
            if not all(map(_are_even, axes)):
                _pool(program.graph, node, axes)


def _windows(size: int, count: int) -> list[tuple[int, int]]:
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _pool(graph: Any, node: Any, axes: list[list[tuple[int, int]]]) -> None:
    import torch

    aten = torch.ops.aten
    if sum(map(len, axes)) > _MOST_WINDOWS:
        raise _refused(node, f"{_MOST_WINDOWS} along both dimensions are the most")
    if any(user.target is not operator.getitem or user.args[1] for user in node.users):
        raise _refused(node, "only their largest elements can be found, and not the places")
    x = node.args[0]
    for axis, windows in zip((-2, -1), axes, strict=True):
        parts = [call(graph, node, aten.slice.Tensor, (x, axis, *each)) for each in windows]
        parts = [call(graph, node, aten.amax.default, (each, [axis], True)) for each in parts]
        x = call(graph, node, aten.cat.default, (parts, axis)) if len(parts) > 1 else parts[0]
    replace_parts(graph, node, (x,))


def _are_even(windows: list[tuple[int, int]]) -> bool:
    """Whether all windows have one size and the same distance."""
    starts = [start for start, _ in windows]
    steps = {later - sooner for sooner, later in zip(starts, starts[1:], strict=False)}
    return 0 not in steps and len(steps) <= 1 == len({end - start for start, end in windows})


def _refused(node: Any, hint: str) -> BmcError:
    return BmcError(
        "op-rejected",
        f"op '{node.target}' has uneven windows, which IREE cannot compute",
        where=torch_places.line_of_trace(node.meta.get("stack_trace") or ""),
        hint=f"{hint}; windows are even if the sizes are multiples of the pool's",
    )
