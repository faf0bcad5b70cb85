"""Converts between f32 and f16 with integers, for harts without f16, and refuses what computes in f16.

IREE's own conversions gave zeros for the smallest numbers (subnormals) where they were tried, in its host runtime.
What is written here rounds as IEEE 754 says. A hart without f16 can move such numbers as well; all else would round
otherwise than the framework or take many times as long, so such a model is refused.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.errors import BmcError
from bmc.ir import arith, build, ir_util, names, permute
from bmc.rewrites.context import Context
from bmc.target import ISA_NAMES, Target, find

# They move numbers, or choose between them.
_MOVES = ("arith.bitcast", "arith.constant", "arith.select")
_COMPUTES = ("arith.", "math.", "linalg.softmax", "iree_linalg_ext.")

# Bits of f32. An exponent of f16 is counted from 15, and one of f32 from 127.
_SIGN, _MAGNITUDE = 0x80000000, 0x7FFFFFFF
_INFINITY = 0x7F800000
_SMALLEST_NORMAL = (127 - 14) << 23
_BEYOND = (127 + 16) << 23
_BIAS = (127 - 15) << 23
# The last bit of 0.5 is worth 2^-24, as the last bit of a subnormal f16. So a sum with 0.5 rounds as those do.
_HALF = 0x3F000000
_F16_SMALLEST_NORMAL, _F16_INFINITY, _F16_NAN = 0x0400, 0x7C00, 0x7E00


def applies(context: Context) -> bool:
    """Whether the target lacks f16."""
    return not context.target.has_f16


def apply(module: Any, context: Context) -> None:
    """Replaces the conversions.

    Raises:
      BmcError: the model computes in f16; the message names the first such operation.
    """
    check(module, context.target)
    for op in list(filter(_converts, ir_util.walk(module.operation))):
        owner = op.operation.parent
        if owner.name.startswith("linalg.") and owner.name != names.GENERIC:
            _convert_before(op, owner)
            continue
        with ir.InsertionPoint(op), op.location:
            make = _rounded if op.name == "arith.truncf" else _extended
            op.results[0].replace_all_uses_with(make(op.operands[0]))
        op.erase()


def check(module: Any, target: Target) -> None:
    """Raises BmcError if a model computes in f16 and the target lacks that; the message names the first operation."""
    if target.has_f16:
        return
    for op in ir_util.walk(module.operation):
        computes = op.name.startswith(_COMPUTES) and op.name not in _MOVES
        if computes and not _converts(op) and _has_f16(op):
            raise _refused(op, target)


def _convert_before(extension: ir_util.Op, product: ir_util.Op) -> None:
    """Converts an operand before the product whose body would: a product with a name has no other body."""
    element = ir.BlockArgument(extension.operands[0])
    operand = product.operands[element.arg_number]
    shape, each = list(operand.type.shape), ir.AffineMap.get_identity(operand.type.rank)
    with ir.InsertionPoint(product), product.location:
        wide = permute.computed(operand, shape, _f32(), each, _extended)
        product.operands[element.arg_number] = wide
        element.set_type(_f32())
    extension.results[0].replace_all_uses_with(element)
    extension.erase()


def refusal(target: Target, does: str, hint: str, where: str = "") -> BmcError:
    """Returns the error for a model that does something in f16 of which the target is not capable."""
    capable = [name for name in ISA_NAMES if find(name).is_riscv and find(name).has_f16]
    return BmcError(
        "no-f16",
        f"the model {does} in f16, and {target.isa} has no instructions for that",
        where=where,
        hint=f"build it for {', '.join(capable[:-1])} or {capable[-1]}, or {hint}",
    )


def _refused(op: ir_util.Op, target: Target) -> BmcError:
    name = op.name.removeprefix("arith.").removeprefix("math.")
    return refusal(target, f"computes '{name}'", "compute in f32", ir_util.place([op]))


def _converts(op: ir_util.Op) -> bool:
    if op.name not in ("arith.extf", "arith.truncf"):
        return False
    types = {str(op.operands[0].type), str(op.results[0].type)}
    return types == {"f16", "f32"}


def _has_f16(op: ir_util.Op) -> bool:
    types = [value.type for value in (*op.operands, *op.results)]
    return any(
        isinstance(type_.element_type if isinstance(type_, ir.ShapedType) else type_, ir.F16Type)
        for type_ in types
    )


def _rounded(value: ir_util.Value) -> Any:
    """Returns f16 of f32, at the current place."""
    bits = build.op("arith.bitcast", _i32(), value)
    magnitude = build.op("arith.andi", _i32(), bits, _number(_MAGNITUDE))
    sign = build.op(
        "arith.shrui", _i32(), build.op("arith.xori", _i32(), bits, magnitude), _number(16)
    )
    small = build.op("arith.bitcast", _f32(), magnitude)
    small = build.op("arith.addf", _f32(), small, build.op("arith.bitcast", _f32(), _number(_HALF)))
    small = build.op("arith.subi", _i32(), build.op("arith.bitcast", _i32(), small), _number(_HALF))
    odd = build.op(
        "arith.andi", _i32(), build.op("arith.shrui", _i32(), magnitude, _number(13)), _number(1)
    )
    normal = build.op("arith.addi", _i32(), magnitude, _number(0xFFF - _BIAS))
    normal = build.op(
        "arith.shrui", _i32(), build.op("arith.addi", _i32(), normal, odd), _number(13)
    )
    is_nan = _compare(arith.I_UGT, magnitude, _INFINITY)
    large = build.op("arith.select", _i32(), is_nan, _number(_F16_NAN), _number(_F16_INFINITY))
    result = build.op(
        "arith.select", _i32(), _compare(arith.I_ULT, magnitude, _SMALLEST_NORMAL), small, normal
    )
    result = build.op(
        "arith.select", _i32(), _compare(arith.I_UGE, magnitude, _BEYOND), large, result
    )
    result = build.op("arith.ori", _i32(), result, sign)
    return build.op("arith.bitcast", ir.F16Type.get(), build.op("arith.trunci", _i16(), result))


def _extended(value: ir_util.Value) -> Any:
    """Returns f32 of f16, at the current place."""
    bits = build.op("arith.extui", _i32(), build.op("arith.bitcast", _i16(), value))
    moved = build.op("arith.shli", _i32(), bits, _number(13))
    magnitude = build.op("arith.andi", _i32(), moved, _number(0x7FFF << 13))
    sign = build.op("arith.shli", _i32(), bits, _number(16))
    sign = build.op("arith.andi", _i32(), sign, _number(_SIGN))
    normal = build.op("arith.addi", _i32(), magnitude, _number(_BIAS))
    # With an exponent and a leading bit that are then taken away.
    small = build.op("arith.addi", _i32(), magnitude, _number(_SMALLEST_NORMAL))
    leading = build.op("arith.bitcast", _f32(), _number(_SMALLEST_NORMAL))
    small = build.op("arith.subf", _f32(), build.op("arith.bitcast", _f32(), small), leading)
    small = build.op("arith.bitcast", _i32(), small)
    large = build.op("arith.ori", _i32(), magnitude, _number(_INFINITY))
    is_small = _compare(arith.I_ULT, magnitude, _F16_SMALLEST_NORMAL << 13)
    finite = build.op("arith.select", _i32(), is_small, small, normal)
    is_large = _compare(arith.I_UGE, magnitude, _F16_INFINITY << 13)
    result = build.op("arith.select", _i32(), is_large, large, finite)
    return build.op("arith.bitcast", _f32(), build.op("arith.ori", _i32(), result, sign))


def _compare(predicate: int, value: Any, number: int) -> Any:
    return arith.compared(predicate, value, _number(number))


def _number(value: int) -> Any:
    return build.number(value, _i32())


def _i32() -> Any:
    return ir.IntegerType.get_signless(32)


def _i16() -> Any:
    return ir.IntegerType.get_signless(16)


def _f32() -> Any:
    return ir.F32Type.get()
