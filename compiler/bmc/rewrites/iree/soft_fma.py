"""Replaces fused multiply-adds with calls, for harts without F.

LLVM turns an fma for which the hart has no instruction into a call of `fmaf`, and IREE links one into every
kernel. Its 32-bit version is empty, because IREE's library is compiled as if uint64_t had 32 bits. The
function called here rounds correctly, so these harts compute the same as harts with F. IREE's `fma` for
f64 is a multiplication followed by an addition, which is good enough.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import llvm

from bmc.ir import ir_util
from bmc.rewrites.context import Context

# Defined in runtime_bm/crt/soft_float.c.
_FUNCTION = "bm_fmaf"
_DECLARATION = f"llvm.func @{_FUNCTION}(f32, f32, f32) -> f32"


def apply(module: Any, _: Context) -> None:
    """Rewrites every f32 fused multiply-add."""
    for kernels in ir_util.all_of(module, "builtin.module"):
        found = [op for op in ir_util.walk(kernels) if _is_f32_fma(op)]
        if found:
            with ir.InsertionPoint.at_block_begin(kernels.regions[0].blocks[0]):
                ir.Operation.parse(_DECLARATION).clone()
        for op in found:
            _replace(op)


def _is_f32_fma(op: ir_util.Op) -> bool:
    if op.name != "llvm.intr.fma":
        return False
    type_ = op.results[0].type
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return isinstance(element, ir.F32Type)


def _replace(op: ir_util.Op) -> None:
    type_ = op.results[0].type
    with ir.InsertionPoint(op), op.location:
        if not isinstance(type_, ir.VectorType):
            result = _call(list(op.operands))
        else:
            i32 = ir.IntegerType.get_signless(32)
            result = llvm.PoisonOp(type_).result
            for i in range(type_.shape[0]):
                place = llvm.ConstantOp(i32, ir.IntegerAttr.get(i32, i)).result
                scalars = [llvm.ExtractElementOp(o, place).result for o in op.operands]
                result = llvm.InsertElementOp(result, _call(scalars), place).result
        op.results[0].replace_all_uses_with(result)
    op.erase()


def _call(operands: list[ir_util.Value]) -> ir_util.Value:
    return llvm.CallOp(ir.F32Type.get(), operands, [], [], callee=_FUNCTION).result
