"""Maximum poolings with small windows become elementwise operations.

Each tap of the window is a slice of the image, and the maximum of the slices works in any layout, by a kernel of bmc's
own. IREE's kernels take up to seven instructions for each element of a window.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import build, contraction, ir_util, names, permute
from bmc.rewrites.context import Context

# Each tap takes a register with an address.
_MOST_TAPS = 9
_MAXIMA = ("arith.maximumf", "arith.maxsi")


def apply(module: Any, _: Context) -> None:
    """Rewrites poolings of images whose channels are behind the pixels."""
    for op in ir_util.all_of(module, names.GENERIC):
        steps = _steps(op)
        if steps is not None:
            _rewrite(op, steps)


def _steps(op: ir_util.Op) -> list[tuple[int, int]] | None:
    """Returns stride and dilation of the window along each axis of pixels; None unless `op` is such a pooling."""
    if len(op.operands) != 3 or len(op.results) != 1 or not contraction.reads_windows(op):
        return None
    window = ir_util.definition(op.operands[1])
    if window is None or window.name != names.EMPTY:
        return None
    image, places, result = permute.maps(op)
    loops, taps = contraction.loops(result), contraction.loops(places)
    extents = window.results[0].type.shape
    if loops is None or taps is None or loops != tuple(range(len(taps) + 1)):
        return None
    *pixels, channel = image.results
    steps = []
    for axis, (index, tap) in enumerate(zip(pixels, taps, strict=True)):
        factors = contraction.terms(index) or {}
        if set(factors) != {axis, tap}:
            return None
        steps.append((factors[axis], factors[tap]))
    is_plain = contraction.terms(channel) == {len(taps): 1}
    return steps if is_plain and math.prod(extents) <= _MOST_TAPS and _is_maximum(op) else None


def is_pooling(op: ir_util.Op) -> bool:
    """Whether an operation takes the largest number of each window, and nothing else."""
    if len(op.operands) != 3 or len(op.results) != 1 or not contraction.reads_windows(op):
        return False
    window = ir_util.definition(op.operands[1])
    is_window = window is not None and window.name == names.EMPTY
    return is_window and _is_maximum(op) and _starts_least(ir_util.definition(op.operands[2]))


def _is_maximum(op: ir_util.Op) -> bool:
    """Whether an operation does nothing but take maxima."""
    maximum, *others = [each.operation for each in op.regions[0].blocks[0].operations]
    value, _, old = op.regions[0].blocks[0].arguments
    return maximum.name in _MAXIMA and len(others) == 1 and set(maximum.operands) == {value, old}


def _starts_least(start: ir_util.Op | None) -> bool:
    """Whether an operation fills a tensor with the least number there is."""
    if start is None or start.name != names.FILL:
        return False
    return is_least(ir_util.definition(start.operands[0]))


def is_least(maker: ir_util.Op | None) -> bool:
    """Whether an operation is the least constant of its type."""
    if maker is None or maker.name != "arith.constant":
        return False
    number = maker.attributes["value"]
    if isinstance(number, ir.FloatAttr):
        return bool(ir.FloatAttr(number).value == float("-inf"))
    return bool(ir.IntegerAttr(number).value == -(2 ** (number.type.width - 1)))


def _rewrite(op: ir_util.Op, steps: list[tuple[int, int]]) -> None:
    image, window, start = op.operands
    result = op.results[0].type
    maximum = op.regions[0].blocks[0].operations[0].operation.name
    with ir.InsertionPoint(op), op.location:
        slices = [
            _slice(
                image, [tap * by for tap, (_, by) in zip(place, steps, strict=True)], steps, result
            )
            for place in itertools.product(*map(range, window.type.shape))
        ]
        if not _starts_least(ir_util.definition(start)):
            slices.append(start)
        new = build.elementwise(
            slices,
            tensor.empty(result.shape, result.element_type),
            [ir.AffineMap.get_identity(result.rank)] * (len(slices) + 1),
            lambda *values: functools.reduce(lambda a, b: build.same(maximum, a, b), values),
        )
    op.results[0].replace_all_uses_with(new)
    op.erase()


def _slice(image: Any, offsets: list[int], steps: list[tuple[int, int]], result: Any) -> Any:
    """Returns the pixels that one tap of the window meets."""
    strides = [*(stride for stride, _ in steps), 1]
    return build.sliced(image, [*offsets, 0], list(result.shape), strides)
