"""Rounds numbers of bf16 where a rounding shows: where they become integers or are compared.

IREE computes bf16 in f32, and leaves out a rounding to bf16 that a conversion to f32 follows. That is within a float's
tolerance, but integers that are made of such numbers are others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, stablehlo

_STEPS = ("ceil", "compare", "floor", "round_nearest_afz", "round_nearest_even", "sign")
# Bits of a bf16.
_EXPONENT, _MANTISSA = 8, 7


def apply(path: Path) -> None:
    """Changes such operations in a file of StableHLO; does nothing with one of linalg."""
    with ir.Context(), ir.Location.unknown():
        module = ir_util.read(path)
        names = ("convert", *_STEPS)
        found = [
            op
            for name in names
            for op in ir_util.all_of(module, f"stablehlo.{name}")
            if _is_brain(op.operands[0].type) and (name in _STEPS or _is_integer(op))
        ]
        for op in found:
            with ir.InsertionPoint(op), op.location:
                for number, value in enumerate(op.operands):
                    op.operands[number] = _rounded(value)
            if _is_brain(op.results[0].type):
                _narrow(op)
        if found:
            ir_util.write(module, path)


def _is_brain(kind: Any) -> bool:
    return isinstance(kind.element_type, ir.BF16Type)


def _is_integer(op: ir_util.Op) -> bool:
    return isinstance(op.results[0].type.element_type, ir.IntegerType)


def _rounded(value: Any) -> Any:
    """Returns numbers of bf16 as f32, rounded by operations on bits, which IREE does not leave out."""
    wide = ir.RankedTensorType.get(value.type.shape, ir.F32Type.get())
    i32 = ir.IntegerType.get_signless(32)
    return stablehlo.operation(
        "stablehlo.reduce_precision",
        wide,
        stablehlo.operation("stablehlo.convert", wide, value),
        exponent_bits=ir.IntegerAttr.get(i32, _EXPONENT),
        mantissa_bits=ir.IntegerAttr.get(i32, _MANTISSA),
    )


def _narrow(op: ir_util.Op) -> None:
    """Makes bf16 of a result that has become f32."""
    result, kind = op.results[0], op.results[0].type
    result.set_type(ir.RankedTensorType.get(kind.shape, ir.F32Type.get()))
    with ir.InsertionPoint.after(op), op.location:
        narrow = stablehlo.operation("stablehlo.convert", kind, result)
    result.replace_all_uses_except(narrow, narrow.owner.operation)
