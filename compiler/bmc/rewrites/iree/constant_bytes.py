"""Small integers of constant expressions become larger ones where they are divided or shifted as unsigned ones.

bmc evaluates constant expressions with IREE's interpreter, which keeps bytes in registers of 32 bits and takes the
others for their signs: 128 >> 1 would become 192 (docs/upstream/iree-vm-unsigned-bytes.md). It converts them rightly.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util

_ARITH = ("arith.ceildivui", "arith.divui", "arith.remui", "arith.shrui")
_SHIFT = "stablehlo.shift_right_logical"
_DIVISIONS = ("stablehlo.divide", "stablehlo.remainder")
_SMALL = (8, 16)


def apply(module: Any, _: object) -> None:
    """Rewrites such operations of constant expressions."""
    constants = ir_util.constant_expressions(module)
    for op in list(ir_util.walk(module.operation)):
        if op.name not in (*_ARITH, _SHIFT, *_DIVISIONS) or ir_util.whole(op) not in constants:
            continue
        element = ir_util.element_type(op.results[0].type)
        if isinstance(element, ir.IntegerType) and element.width in _SMALL:
            if op.name in _ARITH:
                _widen(op, "arith.extui", ir.IntegerType.get_signless(32), "arith.trunci")
            elif op.name == _SHIFT or element.is_unsigned:
                _widen_tensors(op, element)


def _widen_tensors(op: ir_util.Op, element: Any) -> None:
    unsigned = ir.IntegerType.get_unsigned(element.width)
    if element != unsigned:
        cast = "stablehlo.bitcast_convert"
        op = _widen(op, cast, unsigned, cast)
    _widen(op, "stablehlo.convert", ir.IntegerType.get_unsigned(32), "stablehlo.convert")


def _widen(op: ir_util.Op, there: str, element: Any, back: str) -> ir_util.Op:
    """Replaces `op` with one on other elements, which are converted before and behind it."""
    result = op.results[0]
    wide = element
    if isinstance(result.type, ir.RankedTensorType):
        wide = ir.RankedTensorType.get(result.type.shape, element)
    with ir.InsertionPoint(op), op.location:
        operands = [build.op(there, wide, operand) for operand in op.operands]
        made = ir.Operation.create(op.name, [wide], operands)
        narrow = build.op(back, result.type, made.result)
    result.replace_all_uses_with(narrow)
    op.erase()
    return made
