"""Extends unsigned numbers and truth values before they get into a product.

IREE leaves out a conversion to more bits in front of a product of StableHLO, whose kernels then extend what they read.
They take it for signed. Of truth values, it counts the products that are true in a byte, and a byte of 2 or 256 is
neither true nor false.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import build, ir_util, stablehlo

_PRODUCTS = ("stablehlo.convolution", "stablehlo.dot", "stablehlo.dot_general")
_CONVERT = "stablehlo.convert"
_WIDEST = 32


def apply(module: Any, _: object = None) -> None:
    """Rewrites what such products read: unsigned integers, and what is converted from them."""
    for op in list(ir_util.walk(module.operation)):
        if op.name in _PRODUCTS:
            wide = op.results[0].type.element_type
            if wide == ir.IntegerType.get_signless(1):
                _count(op)
                continue
            for place, operand in enumerate(op.operands):
                if _is_unsigned(operand) and operand.type.element_type != wide:
                    kind = ir.RankedTensorType.get(operand.type.shape, wide)
                    with ir.InsertionPoint(op), op.location:
                        op.operands[place] = _extended(operand, kind)
                else:
                    _rewrite(operand)


def _count(op: ir_util.Op) -> None:
    """Counts with integers, and compares with none."""

    def wide(kind: Any) -> Any:
        return ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_signless(_WIDEST))

    with ir.InsertionPoint(op), op.location:
        for place, operand in enumerate(op.operands):
            op.operands[place] = build.op(_CONVERT, wide(operand.type), operand)
    result, truths = op.results[0], op.results[0].type
    result.set_type(wide(truths))
    with ir.InsertionPoint.after(op), op.location:
        compared = stablehlo.compared("NE", result, stablehlo.filled(result.type, 0))
    result.replace_all_uses_except(compared, compared.owner.operation)


def _rewrite(value: Any) -> None:
    """Rewrites the conversions that IREE moves to a product, also over other operations."""
    for each in stablehlo.moved(value):
        maker = ir_util.definition(each)
        if maker is not None and maker.name == _CONVERT and _is_unsigned(maker.operands[0]):
            with ir.InsertionPoint(maker), maker.location:
                each.replace_all_uses_with(_extended(maker.operands[0], each.type))
            maker.erase()


def _is_unsigned(value: Any) -> bool:
    kind = ir_util.element_type(value.type)
    return isinstance(kind, ir.IntegerType) and kind.is_unsigned and kind.width <= _WIDEST


def _extended(source: Any, result: Any) -> Any:
    """Returns a tensor of unsigned integers as one of the type `result`, in a way that IREE does not know."""
    width = source.type.element_type.width
    wide = ir.IntegerType.get_signless(max(2 * width, _WIDEST))
    kind = ir.RankedTensorType.get(source.type.shape, wide)
    mask = stablehlo.constant(np.full(source.type.shape, 2**width - 1), kind)
    extended = build.op(_CONVERT, kind, source)
    masked = build.op("stablehlo.and", kind, extended, mask)
    return masked if kind == result else build.op(_CONVERT, result, masked)
