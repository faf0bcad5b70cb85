"""What a convolution costs if images are stored in one layout or another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bmc.ir.contraction import Contraction
from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import A, Edge, Loop, Node, Padding, Unsupported
from bmc.kernels.problem.roles import arranged
from bmc.kernels.schedule import fastest

# Instructions for a group of sums when it is complete: floats get a bias and a limit, integers are rescaled.
_BEHIND_SUMS = {"f16": 10, "f32": 10, "i32": 14}
# Instructions for each multiply-accumulate, about, where IREE writes the kernel for vectors.
IREE = 0.3
# And where a kernel library for vectors multiplies int8, and for each byte of the image, which it sorts for that.
_DOTS, _SORTED_PIXELS, _SORTED_PLANES = 0.015, 0.1, 0.3


def cost(
    found: Contraction,
    types: tuple[Any, Any, Any],
    orders: tuple[Sequence[int], Sequence[int]],
    vlen: int,
    gaps: bool,
    low: Sequence[int] = (0, 0, 0),
    high: Sequence[int] = (0, 0, 0),
    *,
    dot_channels: int = 0,
) -> float:
    """Returns about how many instructions a convolution executes.

    Args:
      found: the convolution of an image of three axes.
      types: of image, weights and result. The image's is the one in memory.
      orders: the axes of the image, and of the result, in the order in which they are stored, outermost first.
      vlen: VLEN of the target in bits.
      gaps: whether there are gaps between the lines of the result, because a copy of it will be padded.
      low: how many indices are read before the image, along each of its axes.
      high: and how many behind it.
      dot_channels: how many channels an image of int8 has at least that dot products multiply; 0 without them. They
        have windows in the lanes, so the result's order is the same to them.
    """
    image, weights, result = types
    extents = dict(zip(found.result, result.shape, strict=True))
    extents |= dict(zip(found.b, weights.shape, strict=True))
    dtypes = tuple(str(type_.element_type) for type_ in types)
    is_dot = 0 < dot_channels <= image.shape[-1] and found.a[-1].loop not in found.result
    if is_dot and dtypes[0] == "i8":
        sorted_ = _SORTED_PIXELS if orders[0][-1] == len(found.a) - 1 else _SORTED_PLANES
        return _DOTS * float(math.prod(extents.values())) + sorted_ * float(math.prod(image.shape))
    steps = [
        _steps(image.shape, orders[0], dtypes[0]),
        _steps(weights.shape, range(weights.rank), dtypes[1]),
        _steps([each + gaps for each in result.shape], orders[1], dtypes[2]),
    ]
    strides = [[0] * len(extents) for _ in steps]
    for axis, step in zip(found.a, steps[0], strict=True):
        strides[0][axis.loop] += axis.stride * step
        if axis.tap is not None:
            strides[0][axis.tap] += axis.dilation * step
    for place, indices in ((1, found.b), (2, found.result)):
        for loop, step in zip(indices, steps[place], strict=True):
            strides[place][loop] = step
    padded = [axis for axis, pair in enumerate(zip(low, high, strict=True)) if any(pair)]
    edges = [(found.a[axis], Edge(low[axis], image.shape[axis])) for axis in padded]
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
    # What is read there makes no difference.
    padding = Padding(A, 0, tuple(edge for _, edge in edges), 0) if edges else None
    summed = set(extents) - set(found.result)
    try:
        nodes = (Node("sum", dtypes[2]),)
        product, _ = arranged(dtypes, loops, summed, None, nodes, padding)
        return fastest.cost(product, vlen, _BEHIND_SUMS[dtypes[2]])
    except Unsupported:
        return IREE * float(math.prod(extents.values()))


def _steps(shape: Sequence[int], order: Sequence[int], dtype: str) -> list[int]:
    """Bytes from one index to the next along each axis."""
    steps = [0] * len(shape)
    step = WIDTHS[dtype]
    for axis in reversed(order):
        steps[axis] = step
        step *= shape[axis]
    return steps
