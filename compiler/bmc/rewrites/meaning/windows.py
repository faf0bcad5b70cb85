"""Rewrites convolutions and reductions of windows of StableHLO that IREE refuses or computes wrongly.

- A window that is the only one along a dimension may leave elements over, which IREE refuses: they are cut off.
- How many ones are in each window, as average pools divide by, is a constant. IREE counts too few if it does not
  evaluate constant expressions itself.
- Padding changes no result of XLA. IREE pads with the number that a reduction starts from.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import constant_arrays, ir_util, stablehlo

# Operation -> the number that changes no result of it.
_NEUTRAL = {"stablehlo.add": 0, "stablehlo.multiply": 1}
_IMAGE = re.compile(r"<\[([^\]]*)\]x\[([^\]]*)\]->\[([^\]]*)\]>")


@dataclass(frozen=True, slots=True)
class _Axis:
    """One dimension along which a window moves.

    Attributes:
      dimension: its number in the image.
      number: its place in the attribute with the padding.
      size: elements of the image.
      spread: distance of neighboring elements, between which are numbers that change no result.
      low: padding before them.
      reach: places from the first to the last of a window.
      windows: number of windows.
    """

    dimension: int
    number: int
    size: int
    spread: int
    low: int
    reach: int
    windows: int

    @property
    def is_only(self) -> bool:
        """Whether there is one window, with other elements than padding."""
        return self.windows == 1 and self.reach > self.low

    @property
    def kept(self) -> int:
        """Elements that the only window reaches."""
        return min(self.size, -(-(self.reach - self.low) // self.spread))

    @property
    def behind(self) -> int:
        """Padding that the only window reaches behind these."""
        return self.reach - self.low - (self.kept - 1) * self.spread - 1


def apply(module: Any, _: object = None) -> None:
    """Rewrites such operations."""
    for op in ir_util.all_of(module, "stablehlo.convolution"):
        _cut(op, 1, _of_convolution(op))
    for op in ir_util.all_of(module, "stablehlo.reduce_window"):
        if _is_count(op, module):
            _count(op)
            continue
        _cut(op, len(op.results), _of_reduction(op))
        if len(op.results) == 1:
            _pad(op, module)


def _numbers(op: ir_util.Op, name: str, default: int, rank: int) -> list[int]:
    if name not in op.attributes:
        return [default] * rank
    return list(op.attributes[name])


def _of_convolution(op: ir_util.Op) -> list[_Axis]:
    match = _IMAGE.search(str(op.attributes["dimension_numbers"]))
    if match is None:
        return []
    image, window, result = ([name.strip() for name in part.split(",")] for part in match.groups())
    rank = len(image) - 2
    spread = _numbers(op, "lhs_dilation", 1, rank)
    dilation = _numbers(op, "rhs_dilation", 1, rank)
    padding = _numbers(op, "padding", 0, 2 * rank)
    shapes = [list(value.type.shape) for value in (*op.operands, op.results[0])]
    axes = []
    for number in range(rank):
        at, tap, to = (names.index(str(number)) for names in (image, window, result))
        axes.append(
            _Axis(
                at,
                number,
                shapes[0][at],
                spread[number],
                padding[2 * number],
                (shapes[1][tap] - 1) * dilation[number] + 1,
                shapes[2][to],
            )
        )
    return axes


def _of_reduction(op: ir_util.Op) -> list[_Axis]:
    shape, result = op.operands[0].type.shape, op.results[0].type.shape
    rank = len(shape)
    spread = _numbers(op, "base_dilations", 1, rank)
    sizes, dilation = (
        _numbers(op, f"window_{name}", 1, rank) for name in ("dimensions", "dilations")
    )
    padding = _numbers(op, "padding", 0, 2 * rank)
    return [
        _Axis(
            axis,
            axis,
            shape[axis],
            spread[axis],
            padding[2 * axis],
            (sizes[axis] - 1) * dilation[axis] + 1,
            result[axis],
        )
        for axis in range(rank)
    ]


def _cut(op: ir_util.Op, images: int, axes: list[_Axis]) -> None:
    """Takes off what windows leave over: elements of the first operands, and padding."""
    padding = _padding(op, len(axes))
    only = [axis for axis in axes if axis.is_only]
    if all((axis.kept, axis.behind) == (axis.size, padding[axis.number, 1]) for axis in only):
        return
    for axis in only:
        padding[axis.number, 1] = axis.behind
    op.attributes["padding"] = ir.DenseElementsAttr.get(padding)
    kept = {axis.dimension: axis.kept for axis in only if axis.kept < axis.size}
    if not kept:
        return
    with ir.InsertionPoint(op), op.location:
        for number in range(images):
            value = op.operands[number]
            end = [kept.get(axis, size) for axis, size in enumerate(value.type.shape)]
            kind = ir.RankedTensorType.get(end, value.type.element_type)
            op.operands[number] = stablehlo.sliced(value, kind, [0] * len(end), end)


def _padding(op: ir_util.Op, rank: int) -> Array:
    return np.array(_numbers(op, "padding", 0, 2 * rank), np.int64).reshape(rank, 2)


def _pad(op: ir_util.Op, module: Any) -> None:
    """Pads the operand of a reduction beforehand with what changes no result, if it starts from another number."""
    inside = [each.name for each in op.regions[0].blocks[0].operations]
    value, start = op.operands
    neutral = _NEUTRAL.get(inside[0]) if len(inside) == 2 else None
    rank = value.type.rank
    padding, spread = _padding(op, rank), _numbers(op, "base_dilations", 1, rank)
    if neutral is None or not (padding.any() or max(spread) > 1):
        return
    known = constant_arrays.numbers(_spread(start), module)
    if known is not None and (known == neutral).all():
        return
    low, high = padding.T.tolist()
    with ir.InsertionPoint(op), op.location:
        between = [step - 1 for step in spread]
        op.operands[0] = stablehlo.padded(value, neutral, low, high, between)
    op.attributes["padding"] = ir.DenseElementsAttr.get(np.zeros((rank, 2), np.int64))
    op.attributes["base_dilations"] = ir.DenseI64ArrayAttr.get([1] * rank)


def _is_count(op: ir_util.Op, module: Any) -> bool:
    """Whether an operation adds up ones in windows without padding."""
    inside = [each.name for each in op.regions[0].blocks[0].operations]
    if len(op.results) != 1 or inside != ["stablehlo.add", "stablehlo.return"]:
        return False
    rank = op.results[0].type.rank
    if _padding(op, rank).any() or set(_numbers(op, "base_dilations", 1, rank)) != {1}:
        return False
    if not isinstance(op.results[0].type.element_type, ir.F32Type):
        return False
    ones, zero = (constant_arrays.numbers(_spread(operand), module) for operand in op.operands)
    return ones is not None and zero is not None and bool((ones == 1).all() and (zero == 0).all())


def _spread(value: Any) -> Any:
    """Returns the scalar that a value repeats, or the value."""
    maker = ir_util.definition(value)
    # TensorFlow pads by nothing.
    while maker is not None and maker.name == "stablehlo.pad":
        if maker.operands[0].type != value.type:
            return value
        value = maker.operands[0]
        maker = ir_util.definition(value)
    if maker is not None and maker.name == "stablehlo.broadcast_in_dim":
        return maker.operands[0]
    return value


def _count(op: ir_util.Op) -> None:
    kind = op.results[0].type
    sizes = _numbers(op, "window_dimensions", 1, kind.rank)
    with ir.InsertionPoint(op), op.location:
        made = stablehlo.filled(kind, math.prod(sizes))
    op.results[0].replace_all_uses_with(made)
    op.erase()
