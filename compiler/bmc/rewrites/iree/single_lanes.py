"""Compares vectors of one short integer as scalars, for harts without vectors.

Where such a vector is carried by a loop, LLVM takes its bytes for unsigned ones: the largest of -1 and 3 is -1
(docs/upstream/llvm-single-lanes.md).
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import llvm

from bmc.ir import build, ir_util

# LLVM may make a minimum of a comparison and a choice.
_OPERATIONS = ("llvm.icmp", "llvm.intr.smax", "llvm.intr.smin", "llvm.select")
_WIDEST = 16


def apply(module: Any, _: object = None) -> None:
    """Rewrites operations of the LLVM dialect."""
    for op in [op for op in ir_util.walk(module.operation) if _is_meant(op)]:
        with ir.InsertionPoint(op), op.location:
            place = llvm.ConstantOp(_i32(), ir.IntegerAttr.get(_i32(), 0)).result
            scalars = [
                llvm.ExtractElementOp(each, place).result if _is_single(each.type) else each
                for each in op.operands
            ]
            kind = op.results[0].type
            made = build.again(op, [kind.element_type], scalars).results[0]
            made = llvm.InsertElementOp(llvm.PoisonOp(kind).result, made, place).result
        op.results[0].replace_all_uses_with(made)
        op.erase()


def _is_meant(op: ir_util.Op) -> bool:
    if op.name not in _OPERATIONS:
        return False
    compared = op.operands[len(op.operands) - 1].type
    return (
        _is_single(compared)
        and isinstance(compared.element_type, ir.IntegerType)
        and compared.element_type.width <= _WIDEST
    )


def _is_single(kind: Any) -> bool:
    return isinstance(kind, ir.VectorType) and list(kind.shape) == [1]


def _i32() -> Any:
    return ir.IntegerType.get_signless(32)
