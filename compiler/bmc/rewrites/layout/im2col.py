"""Convolutions of images with one channel, such as sound or grayscale pictures, become matrix products.

IREE drops a single channel, then no longer recognizes the convolution and computes one number at a time,
which takes 8 instructions per multiply-add. Here the window of every pixel is first gathered into a row.
That takes about 6 instructions per element of the row, and every output channel then uses the row. The
rows take RAM: the result's pixels times the window's taps. Kernels of bmc's own need no rows. Whether there
is one is known later; then the model is compiled again.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import build, contraction, ir_util, names, permute
from bmc.ir.contraction import Contraction
from bmc.rewrites.context import Context
from bmc.rewrites.kernels import own_kernels


def apply(module: Any, context: Context) -> None:
    """Rewrites convolutions of one-channel images that have no kernel of bmc's own."""
    for op in ir_util.all_of(module, names.GENERIC):
        product = contraction.read(op)
        if product is None or not _reads_windows_of_one_channel(product):
            continue
        shape = contraction.shape(op)
        if own_kernels.applies(context) and shape not in context.decisions.gathered:
            context.single |= {shape}
        else:
            _gather(op, product)


def _reads_windows_of_one_channel(product: Contraction) -> bool:
    """Whether it is r[y, x, n] = sum over i, j of a[y * s + i * d, x * s + j * d] * b[i, j, n]."""
    rank = len(product.a)
    taps = tuple(range(rank + 1, 2 * rank + 1))
    return (
        rank > 0
        and product.counts_up
        and len(product.result) == rank + 1
        and product.b == (*taps, rank)
        and [(axis.loop, axis.tap) for axis in product.a] == list(enumerate(taps))
    )


def _gather(op: ir_util.Op, product: Contraction) -> None:
    image, weight = op.operands[0], op.operands[1]
    pixels = list(op.results[0].type.shape[:-1])
    taps = list(weight.type.shape[:-1])
    rank = len(pixels)
    loops = [ir.AffineExpr.get_dim(i) for i in range(2 * rank)]
    # The product counts the window's loops after the channel loop, which the gathering op lacks.
    read = [
        loops[i] * axis.stride + loops[rank + i] * axis.dilation for i, axis in enumerate(product.a)
    ]
    with ir.InsertionPoint(op), op.location:
        rows = permute.copied(image, [*pixels, *taps], ir.AffineMap.get(2 * rank, 0, read))
        window = [[i] for i in range(rank)] + [list(range(rank, 2 * rank))]
        op.operands[0] = _collapse(rows, window)
        op.operands[1] = _collapse(weight, [list(range(rank)), [rank]])
    # Loops of the product: pixels, channels, taps.
    channel, tap = ir.AffineExpr.get_dim(rank), ir.AffineExpr.get_dim(rank + 1)
    results = [[*loops[:rank], tap], [tap, channel], [*loops[:rank], channel]]
    op.attributes["indexing_maps"] = build.maps([ir.AffineMap.get(rank + 2, 0, r) for r in results])
    kinds = list(op.attributes["iterator_types"])
    op.attributes["iterator_types"] = ir.ArrayAttr.get(kinds[: rank + 2])


def _collapse(value: Any, groups: list[list[int]]) -> Any:
    extents = list(value.type.shape)
    shape = []
    for group in groups:
        extent = 1
        for dimension in group:
            extent *= extents[dimension]
        shape.append(extent)
    return tensor.collapse_shape(
        ir.RankedTensorType.get(shape, value.type.element_type), value, groups
    )
