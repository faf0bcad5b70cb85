"""Rewrites convolutions and reductions of windows of StableHLO that IREE refuses or computes wrongly.

- A window that is the only one along a dimension may leave elements over, which IREE refuses: they are cut off.
- How many ones are in each window, as average pools divide by, is a constant. IREE counts too few if it does not
  evaluate constant expressions itself.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import constant_arrays, ir_util, stablehlo

_IMAGE = re.compile(r"<\[([^\]]*)\]x\[([^\]]*)\]->\[([^\]]*)\]>")


@dataclass(frozen=True, slots=True)
class _Axis:
    """One dimension along which a window moves.

    Attributes:
      dimension: its number in the image.
      number: its place in the attribute with the padding.
      size: elements of the image.
      low, high: elements of padding before and behind them.
      reach: elements from the first to the last of a window.
      windows: number of windows.
    """

    dimension: int
    number: int
    size: int
    low: int
    high: int
    reach: int
    windows: int

    @property
    def over(self) -> int:
        """Elements behind the only window, if it has others than padding."""
        is_cut = self.windows == 1 and self.reach > self.low
        return self.low + self.size + self.high - self.reach if is_cut else 0


def apply(module: Any, _: object = None) -> None:
    """Rewrites such operations."""
    for op in ir_util.all_of(module, "stablehlo.convolution"):
        _cut(op, 1, _of_convolution(op))
    for op in ir_util.all_of(module, "stablehlo.reduce_window"):
        if _is_count(op, module):
            _count(op)
        else:
            _cut(op, len(op.results), _of_reduction(op))


def _numbers(op: ir_util.Op, name: str, default: int, rank: int) -> list[int]:
    if name not in op.attributes:
        return [default] * rank
    attribute = op.attributes[name]
    is_list = isinstance(attribute, ir.DenseI64ArrayAttr)
    return list(attribute) if is_list else np.array(attribute).reshape(-1).tolist()


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
                padding[2 * number],
                padding[2 * number + 1],
                (shapes[1][tap] - 1) * dilation[number] + 1,
                shapes[2][to],
            )
        )
    return axes if set(spread) <= {1} else []


def _of_reduction(op: ir_util.Op) -> list[_Axis]:
    shape, result = op.operands[0].type.shape, op.results[0].type.shape
    rank = len(shape)
    spread = _numbers(op, "base_dilations", 1, rank)
    sizes, dilation = (
        _numbers(op, f"window_{name}", 1, rank) for name in ("dimensions", "dilations")
    )
    padding = _numbers(op, "padding", 0, 2 * rank)
    axes = [
        _Axis(
            axis,
            axis,
            shape[axis],
            padding[2 * axis],
            padding[2 * axis + 1],
            (sizes[axis] - 1) * dilation[axis] + 1,
            result[axis],
        )
        for axis in range(rank)
    ]
    return axes if set(spread) <= {1} else []


def _cut(op: ir_util.Op, images: int, axes: list[_Axis]) -> None:
    """Takes off what windows leave over: padding, and then elements of the first operands."""
    left = [axis for axis in axes if axis.over > 0]
    cut = {axis.dimension: axis.over - axis.high for axis in left if axis.over > axis.high}
    if any(axis.high for axis in left):
        padding = np.array(op.attributes["padding"])
        for axis in left:
            padding[axis.number, 1] -= min(axis.over, axis.high)
        op.attributes["padding"] = ir.DenseElementsAttr.get(padding)
    if not cut:
        return
    with ir.InsertionPoint(op), op.location:
        for number in range(images):
            value = op.operands[number]
            end = [size - cut.get(axis, 0) for axis, size in enumerate(value.type.shape)]
            kind = ir.RankedTensorType.get(end, value.type.element_type)
            op.operands[number] = stablehlo.sliced(value, kind, [0] * len(end), end)


def _is_count(op: ir_util.Op, module: Any) -> bool:
    """Whether an operation adds up ones in windows without padding."""
    inside = [each.name for each in op.regions[0].blocks[0].operations]
    if len(op.results) != 1 or inside != ["stablehlo.add", "stablehlo.return"]:
        return False
    axes = _of_reduction(op)
    if not axes or any(axis.low or axis.high for axis in axes):
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
        number = ir.FloatAttr.get(kind.element_type, float(math.prod(sizes)))
        made = stablehlo.operation(
            "stablehlo.constant", kind, value=ir.DenseElementsAttr.get_splat(kind, number)
        )
    op.results[0].replace_all_uses_with(made)
    op.erase()
