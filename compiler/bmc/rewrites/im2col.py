"""Convolutions of images with one channel (sound, grey pictures) become matrix products.

Once the channel is dropped IREE no longer takes them for convolutions and computes one number at a
time, 8 instructions for each multiply-add. The window of every pixel is gathered into a row first,
which costs about 6 instructions for each element of a row, far fewer than there are channels to
compute from it. The rows take RAM: pixels of the result times taps of the window.
"""

from __future__ import annotations

import re
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import ir_util, permute
from bmc.rewrites.context import Context

_WINDOW = re.compile(r"(d\d+)(?: \* (\d+))? \+ (d\d+)")


def apply(module: Any, _: Context) -> None:
    """Rewrites convolutions of one channel."""
    for op in ir_util.all_of(module, "linalg.generic"):
        if _reads_windows_of_one_channel(op):
            _gather(op)


def _reads_windows_of_one_channel(op: ir_util.Op) -> bool:
    """True for r[y, x, n] = sum over i, j of a[y * s + i, x * t + j] * b[i, j, n]."""
    if len(op.operands) != 3:
        return False
    a, b, result = (tuple(str(loop) for loop in m.results) for m in permute.maps(op))
    windows = [match for index in a if (match := _WINDOW.fullmatch(index))]
    return (
        len(a) == len(windows) > 0
        and result == tuple(f"d{i}" for i in range(len(a) + 1))
        and b == tuple(f"d{i}" for i in (*range(len(a) + 1, 2 * len(a) + 1), len(a)))
        and [(w[1], w[3]) for w in windows] == [*zip(result, b[:-1], strict=False)]
    )


def _gather(op: ir_util.Op) -> None:
    image, weight = op.operands[0], op.operands[1]
    pixels = list(op.results[0].type.shape[:-1])
    taps = list(weight.type.shape[:-1])
    rank = len(pixels)
    loops = [ir.AffineExpr.get_dim(i) for i in range(2 * rank)]
    # The window's loops were counted after the channels', which the gathering does not have.
    read = [
        loops[i] * int(_WINDOW.fullmatch(str(index))[2] or 1) + loops[rank + i]  # type: ignore[index]
        for i, index in enumerate(permute.maps(op)[0].results)
    ]
    with ir.InsertionPoint(op), op.location:
        rows = permute.copied(image, [*pixels, *taps], ir.AffineMap.get(2 * rank, 0, read))
        window = [[i] for i in range(rank)] + [list(range(rank, 2 * rank))]
        op.operands[0] = _collapse(rows, window)
        op.operands[1] = _collapse(weight, [list(range(rank)), [rank]])
    # Loops of the product: pixels, channels, taps.
    channel, tap = ir.AffineExpr.get_dim(rank), ir.AffineExpr.get_dim(rank + 1)
    results = [[*loops[:rank], tap], [tap, channel], [*loops[:rank], channel]]
    op.attributes["indexing_maps"] = permute.map_attributes(
        [ir.AffineMap.get(rank + 2, 0, r) for r in results]
    )
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
