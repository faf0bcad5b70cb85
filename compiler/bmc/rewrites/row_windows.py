"""Convolutions with a window of one column, 7x1, become ones with a window of one row.

IREE vectorizes a window that runs along the last axis of the pixels, 1x7, and computes one number at a
time for one that runs along another (InceptionV4 takes 14 times as many instructions with that). Such
a convolution gets an image whose two axes are exchanged, and gives its result like that: a copy of
each, at most, which costs little beside the product.
"""

from __future__ import annotations

import re
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, permute
from bmc.rewrites.context import Context

_WINDOW = re.compile(r"(d\d+)(?: \* \d+)? \+ d\d+")


def apply(module: Any, _: Context) -> None:
    """Rewrites convolutions with a window of one column."""
    for op in ir_util.all_of(module, "linalg.generic"):
        axis = _column(op)
        if axis is not None:
            _exchange(op, axis)


def _column(op: ir_util.Op) -> int | None:
    """Returns the axis of the result that the only window runs along, if it is not the last of the
    pixels: 0 for r[y, x, n] = sum over i, c of a[y + i, x, c] * b[i, c, n]."""
    if len(op.operands) != 3:
        return None
    image, _, result = ([str(index) for index in m.results] for m in permute.maps(op))
    windows = [match for index in image if (match := _WINDOW.fullmatch(index))]
    last = len(result) - 2
    if len(windows) != 1 or last < 1 or result != [f"d{i}" for i in range(len(result))]:
        return None
    axis = int(windows[0][1][1:])
    return axis if axis < last and f"d{last}" in image else None


def _exchange(op: ir_util.Op, axis: int) -> None:
    image, weight, result = permute.maps(op)
    last = len(result.results) - 2
    indices = [str(index) for index in image.results]
    window = next(i for i, index in enumerate(indices) if _WINDOW.fullmatch(index))
    image_axes = _swapped(len(indices), window, indices.index(f"d{last}"))
    result_axes = _swapped(len(result.results), axis, last)
    with ir.InsertionPoint(op), op.location:
        operands = [
            permute.transposed(op.operands[0], image_axes),
            op.operands[1],
            permute.transposed(op.operands[2], result_axes),
        ]
        product = ir.Operation.create(
            op.name,
            results=[operands[2].type],
            operands=operands,
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=1,
        )
    op.regions[0].blocks[0].append_to(product.regions[0])
    # The loops over the two axes are exchanged too, which leaves the map of the result as it was.
    loops = [ir.AffineExpr.get_dim(i) for i in _swapped(result.n_dims, axis, last)]
    renamed = ir.AffineMap.get(result.n_dims, 0, loops)
    product.attributes["indexing_maps"] = permute.map_attributes(
        [
            ir.AffineMap.get(
                result.n_dims, 0, [image.results[i].compose(renamed) for i in image_axes]
            ),
            ir.AffineMap.get(result.n_dims, 0, [i.compose(renamed) for i in weight.results]),
            result,
        ]
    )
    permute.keep_image_apart(product)
    permute.replace(op, product.results[0], result_axes)


def _swapped(count: int, a: int, b: int) -> tuple[int, ...]:
    """0 to count - 1 with a and b exchanged."""
    order = list(range(count))
    order[a], order[b] = b, a
    return tuple(order)
