"""Convolutions with a window of one column, such as 7x1, become convolutions with a window of one row.

IREE vectorizes a window along the last pixel axis (1x7). For a window along another axis it computes one
number at a time, and InceptionV4 takes 14 times as many instructions. Here such a convolution gets an
image with these two axes swapped, and its result has them swapped too. That adds at most one copy of
each, which costs little compared to the product.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import contraction, ir_util, permute
from bmc.ir.contraction import Axis, Contraction
from bmc.rewrites.context import Context


def apply(module: Any, _: Context) -> None:
    """Rewrites convolutions with a window of one column."""
    for op in ir_util.all_of(module, "linalg.generic"):
        product = contraction.read(op)
        column = _column(product) if product is not None else None
        if product is not None and column is not None:
            _exchange(op, product, column)


def _column(product: Contraction) -> Axis | None:
    """Returns the image axis with the only window, None if it is the last pixel axis.

    That is the first axis for r[y, x, n] = sum over i, c of a[y + i, x, c] * b[i, c, n].
    """
    last = len(product.result) - 2
    if len(product.windows) != 1 or last < 1 or not product.counts_up:
        return None
    (window,) = product.windows
    return window if window.loop < last and Axis(last) in product.a else None


def _exchange(op: ir_util.Op, product: Contraction, column: Axis) -> None:
    image, weight, result = permute.maps(op)
    axis, last = column.loop, len(product.result) - 2
    window = product.a.index(column)
    image_axes = _swapped(len(product.a), window, product.a.index(Axis(last)))
    result_axes = _swapped(len(result.results), axis, last)
    with ir.InsertionPoint(op), op.location:
        operands = [
            permute.transposed(op.operands[0], image_axes),
            op.operands[1],
            permute.transposed(op.operands[2], result_axes),
        ]
        new = ir.Operation.create(
            op.name,
            results=[operands[2].type],
            operands=operands,
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=1,
        )
    op.regions[0].blocks[0].append_to(new.regions[0])
    # The loops over the two axes are swapped too, so the result's map stays the same.
    loops = [ir.AffineExpr.get_dim(i) for i in _swapped(result.n_dims, axis, last)]
    renamed = ir.AffineMap.get(result.n_dims, 0, loops)
    new.attributes["indexing_maps"] = permute.map_attributes(
        [
            ir.AffineMap.get(
                result.n_dims, 0, [image.results[i].compose(renamed) for i in image_axes]
            ),
            ir.AffineMap.get(result.n_dims, 0, [i.compose(renamed) for i in weight.results]),
            result,
        ]
    )
    permute.keep_image_apart(new)
    permute.replace(op, new.results[0], result_axes)


def _swapped(count: int, a: int, b: int) -> tuple[int, ...]:
    """The numbers from 0 to count - 1 with a and b swapped."""
    order = list(range(count))
    order[a], order[b] = b, a
    return tuple(order)
