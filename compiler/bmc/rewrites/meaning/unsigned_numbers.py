"""Gives unsigned integers a sign where IREE has no kernel for them, or takes them for others.

IREE takes an index of 255 in unsigned bytes for -1. It cannot reverse unsigned integers, and neither scatter nor reduce
windows of them. Integers of more bits have the same values and, cut off again, the same sums, products and extrema;
but what is larger after a sum is not what is larger after it was cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util

_READS = ("stablehlo.gather", "stablehlo.torch_index_select")
_SCATTER, _WINDOWS = "stablehlo.scatter", "stablehlo.reduce_window"
_RETURN = "stablehlo.return"
_STEPS = tuple(
    f"stablehlo.{name}" for name in ("add", "and", "maximum", "minimum", "multiply", "or", "xor")
)


def apply(module: Any, _: object = None) -> None:
    """Rewrites such operations of StableHLO."""
    for op in list(ir_util.walk(module.operation)):
        if op.name in _READS:
            _convert(op, [1])
        elif op.name == "stablehlo.reverse":
            _compute(op, [0])
        elif op.name in (_SCATTER, _WINDOWS):
            count = len(op.results)
            numbers = [*range(count), *range(len(op.operands) - count, len(op.operands))]
            if op.name == _SCATTER:
                _convert(op, [count])
            names = [each.name for each in _body(op)]
            if names == [_RETURN] or (names[1:] == [_RETURN] and names[0] in _STEPS):
                _compute(op, numbers)


def _body(op: ir_util.Op) -> list[ir_util.Op]:
    return [each.operation for each in op.regions[0].blocks[0].operations]


def _convert(op: ir_util.Op, places: Sequence[int]) -> None:
    """Converts the operands at these places to integers of more bits, if they are unsigned."""
    with ir.InsertionPoint(op), op.location:
        for place in places:
            kind = _signed(op.operands[place].type)
            if kind is not None:
                op.operands[place] = build.op("stablehlo.convert", kind, op.operands[place])


def _compute(op: ir_util.Op, places: Sequence[int]) -> None:
    """Converts what an operation computes with, and its results back."""
    kinds = [result.type for result in op.results]
    if all(_signed(kind) is None for kind in kinds):
        return
    _convert(op, places)
    for region in op.regions:
        for block in region.blocks:
            inside = [*block.arguments, *(made for each in _body(op) for made in each.results)]
            for value in inside:
                value.set_type(_signed(value.type) or value.type)
    for result, kind in zip(op.results, kinds, strict=True):
        wide = _signed(kind)
        if wide is None:
            continue
        result.set_type(wide)
        with ir.InsertionPoint.after(op), op.location:
            made = build.op("stablehlo.convert", kind, result)
        result.replace_all_uses_except(made, made.owner.operation)


def _signed(kind: Any) -> Any:
    """Returns the type of more bits for one of unsigned integers, None for others."""
    element = kind.element_type
    if not isinstance(element, ir.IntegerType) or not element.is_unsigned or element.width > 32:
        return None
    wide = ir.IntegerType.get_signless(32 if element.width < 32 else 64)
    return ir.RankedTensorType.get(kind.shape, wide)
