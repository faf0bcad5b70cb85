"""Estimates the cost of a convolution for a layout of its images, HWC or CHW."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from bmc.ir.contraction import Contraction
from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import A, Edge, Loop, Node, Padding
from bmc.kernels.problem.roles import arranged
from bmc.kernels.schedule import fastest
from bmc.kernels.unsupported import Unsupported

# Instructions of an accumulator's epilogue, by dtype: floats get a bias and a clamp, integers are requantized.
_EPILOGUE_COSTS = {"f16": 10, "f32": 10, "i32": 14}
# Estimated instructions for each multiply-accumulate in a vector kernel of IREE.
IREE = 0.3
# What a byte of a padded copy of an image costs, in instructions; most of it is for the memory.
_COPIED = 1
# Estimated instructions for each multiply-accumulate in a kernel library's int8 dot products, and for each byte of the
# image that the library packs for them, from HWC and from CHW.
_DOT_COST, _PACKED_PIXELS, _PACKED_PLANES = 0.015, 0.1, 0.3


def cost(
    contraction: Contraction,
    types: tuple[Any, Any, Any],
    orders: tuple[Sequence[int], Sequence[int]],
    vlen: int,
    gaps: bool,
    low: Sequence[int] = (0, 0, 0),
    high: Sequence[int] = (0, 0, 0),
    *,
    dot_channels: int = 0,
) -> float:
    """Estimates the instructions that a convolution executes.

    Args:
      contraction: the convolution, of an image with three axes.
      types: tensor types of image, weights and result; the image's as in memory.
      orders: the axes of the image, and of the result, in their order in memory, outermost first.
      vlen: VLEN of the target in bits.
      gaps: whether there are gaps between the lines of the result, because it will be padded in place.
      low, high: indices read before and behind the image along each of its axes.
      dot_channels: the fewest channels of an int8 image for which dot products are used; 0 without dot products. They
        vectorize over the window, so the order of the result does not matter.
    """
    image, weights, result = types
    extents = dict(zip(contraction.result, result.shape, strict=True))
    extents |= dict(zip(contraction.b, weights.shape, strict=True))
    dtypes = tuple(str(type_.element_type) for type_ in types)
    is_dot = (
        0 < dot_channels <= image.shape[-1] and contraction.a[-1].loop not in contraction.result
    )
    if is_dot and dtypes[0] == "i8":
        packing = _PACKED_PIXELS if orders[0][-1] == len(contraction.a) - 1 else _PACKED_PLANES
        return _DOT_COST * float(math.prod(extents.values())) + packing * float(
            math.prod(image.shape)
        )
    steps = [
        _steps(image.shape, orders[0], dtypes[0]),
        _steps(weights.shape, range(weights.rank), dtypes[1]),
        _steps([each + gaps for each in result.shape], orders[1], dtypes[2]),
    ]
    strides = [[0] * len(extents) for _ in steps]
    for axis, step in zip(contraction.a, steps[0], strict=True):
        strides[0][axis.loop] += axis.stride * step
        if axis.tap is not None:
            strides[0][axis.tap] += axis.dilation * step
    for operand, indices in ((1, contraction.b), (2, contraction.result)):
        for loop, step in zip(indices, steps[operand], strict=True):
            strides[operand][loop] = step
    padded = [axis for axis, pair in enumerate(zip(low, high, strict=True)) if any(pair)]
    edges = [(contraction.a[axis], Edge(low[axis], image.shape[axis])) for axis in padded]
    loops = [
        Loop(
            extents[loop],
            tuple(each[loop] for each in strides),
            tuple(
                axis.stride * (axis.loop == loop) + axis.dilation * (axis.tap == loop)
                for axis, _ in edges
            ),
        )
        for loop in sorted(extents)
    ]
    # The pad value makes no difference.
    padding = Padding(A, 0, tuple(edge for _, edge in edges), 0) if edges else None
    summed = set(extents) - set(contraction.result)
    try:
        nodes = (Node("sum", dtypes[2]),)
        product, _ = arranged(dtypes, loops, summed, None, nodes, padding)
        return fastest.cost(product, vlen, _EPILOGUE_COSTS[dtypes[2]])
    except Unsupported:
        if not edges:
            return IREE * float(math.prod(extents.values()))
    shape = [sum(sizes) for sizes in zip(low, image.shape, high, strict=True)]
    padded_copy = ir.RankedTensorType.get(shape, image.element_type)
    of_copy = cost(contraction, (padded_copy, weights, result), orders, vlen, gaps)
    return of_copy + float(_COPIED * math.prod(shape) * WIDTHS[dtypes[0]])


def _steps(shape: Sequence[int], order: Sequence[int], dtype: str) -> list[int]:
    """Returns the stride in bytes along each axis of a tensor whose axes are stored in `order`, outermost first."""
    steps = [0] * len(shape)
    step = WIDTHS[dtype]
    for axis in reversed(order):
        steps[axis] = step
        step *= shape[axis]
    return steps
