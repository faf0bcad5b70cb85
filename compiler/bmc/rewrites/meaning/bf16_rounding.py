"""Rounds computed numbers of bf16 where a rounding shows: where they become others, or are compared.

Integers become bf16 by way of f32, but constants as they are: IREE folds one step, and rejects what it hoists of two.

IREE computes bf16 in f32, and leaves out a rounding to bf16 that a conversion to f32 follows.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util, names, stablehlo

_CONVERT = "stablehlo.convert"
_STEPS = tuple(
    f"stablehlo.{name}"
    for name in ("ceil", "compare", "floor", "round_nearest_afz", "round_nearest_even", "sign")
)
_SORT = "stablehlo.sort"
_CONSTANTS = ("arith.constant", "stablehlo.constant")
_READ = (*_CONSTANTS, names.GLOBAL_LOAD)
# Bits of a bf16.
_EXPONENT, _MANTISSA = 8, 7


def apply(module: Any, _: object = None) -> None:
    """Rewrites such operations of StableHLO."""
    for op in list(ir_util.walk(module.operation)):
        if _comes_from_integers(op):
            _widen(op)
        if not _shows(op):
            continue
        with ir.InsertionPoint(op), op.location:
            for number, value in enumerate(op.operands):
                op.operands[number] = _rounded(value)
        if _is_brain(op.results[0].type):
            _narrow(op)


def _comes_from_integers(op: ir_util.Op) -> bool:
    if op.name != _CONVERT or not _is_brain(op.results[0].type):
        return False
    maker = ir_util.definition(op.operands[0])
    source = maker.operands[0] if maker is not None and maker.name == _CONVERT else op.operands[0]
    if maker is not None and maker.name in _CONSTANTS:
        return False
    return isinstance(source.type.element_type, ir.IntegerType)


def _widen(op: ir_util.Op) -> None:
    """Makes bf16 of integers by way of rounded f32: LLVM makes it at once by a function that no target has."""
    with ir.InsertionPoint(op), op.location:
        op.operands[0] = _rounded(op.operands[0])


def _shows(op: ir_util.Op) -> bool:
    if op.name not in (_CONVERT, *_STEPS) or not _is_brain(op.operands[0].type):
        return False
    if op.parent is not None and op.parent.name == _SORT:
        return False  # It compares what was stored, and IREE cannot compile roundings there.
    return op.name in _STEPS or (not _is_brain(op.results[0].type) and _is_computed(op.operands[0]))


def _is_computed(value: Any) -> bool:
    """Whether some of the numbers were not read as bf16 before something moved them."""
    makers = map(ir_util.definition, stablehlo.moved(value))
    return any(each is not None and each.name not in (*stablehlo.MOVES, *_READ) for each in makers)


def _is_brain(kind: Any) -> bool:
    return isinstance(kind.element_type, ir.BF16Type)


def _rounded(value: Any) -> Any:
    """Returns numbers as f32 that bf16 holds, rounded by operations on bits, which IREE does not leave out."""
    wide = ir.RankedTensorType.get(value.type.shape, ir.F32Type.get())
    i32 = ir.IntegerType.get_signless(32)
    return build.op(
        "stablehlo.reduce_precision",
        wide,
        build.op(_CONVERT, wide, value),
        exponent_bits=ir.IntegerAttr.get(i32, _EXPONENT),
        mantissa_bits=ir.IntegerAttr.get(i32, _MANTISSA),
    )


def _narrow(op: ir_util.Op) -> None:
    """Makes bf16 of a result that has become f32."""
    result, kind = op.results[0], op.results[0].type
    result.set_type(ir.RankedTensorType.get(kind.shape, ir.F32Type.get()))
    with ir.InsertionPoint.after(op), op.location:
        narrow = build.op(_CONVERT, kind, result)
    result.replace_all_uses_except(narrow, narrow.owner.operation)
