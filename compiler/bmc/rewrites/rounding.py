"""Quantization rounds with an addition.

IREE quantizes f32 to int8 as fptosi(min(max(roundeven(x / scale) + zero point, -128), 127)). RISC-V has no
vector instruction that rounds to a float, so this takes about ten of them and switches the rounding mode
twice. If x / scale is clamped first, it is so small that adding 1.5 * 2^23 leaves no bits for a fraction.
The addition itself then rounds to nearest, ties to even, and the lowest bits of the sum hold the integer.
The result is the same for every x, including infinities and NaN.

QEMU 7.2 aborts on vfcvt.rtz.x.f.v, which is what fptosi becomes, unless an earlier instruction of the same
block uses the dynamic rounding mode. Rewritten kernels run there too.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.rewrites.context import Context

_TO_INTEGER = ("arith.fptosi", "arith.fptoui")
_CLAMPS = ("arith.maxnumf", "arith.minnumf")
# 1.5 * 2^23. Between 2^23 and 2^24 neighboring f32 values are 1 apart, and their lowest bits count up.
_MAGIC = 12582912.0
# Keeps the sum in that range.
_LARGEST = 2.0**22


def apply(module: Any, _: Context) -> None:
    """Rewrites every quantization to int8."""
    for op in list(ir_util.walk(module.operation)):
        if op.name in _TO_INTEGER and _is_f32_to_i8(op):
            _rewrite(op)


def _is_f32_to_i8(op: ir_util.Op) -> bool:
    return str(op.operands[0].type) == "f32" and str(op.results[0].type) == "i8"


def _rewrite(conversion: ir_util.Op) -> None:
    """Rewrites a conversion if its operand is rounded, shifted by an integer and clamped."""
    clamps: list[tuple[str, float]] = []
    value = conversion.operands[0]
    chain = [conversion]
    while (clamp := _defined_by(value, _CLAMPS)) is not None:
        bound = _constant(clamp.operands[1])
        if bound is None or abs(bound) > _LARGEST:
            return
        clamps.append((clamp.name, bound))
        chain.append(clamp)
        value = clamp.operands[0]
    zero_point: float | None = 0.0
    if (shift := _defined_by(value, ("arith.addf",))) is not None:
        zero_point = _constant(shift.operands[1])
        chain.append(shift)
        value = shift.operands[0]
    rounding = _defined_by(value, ("math.roundeven",))
    if rounding is None or {name for name, _ in clamps} != set(_CLAMPS):
        return
    if zero_point is None or zero_point not in range(-128, 256):
        return
    chain.append(rounding)
    f32, i32, i8 = value.type, ir.IntegerType.get_signless(32), conversion.results[0].type
    with ir.InsertionPoint(conversion), conversion.location:
        clamped = rounding.operands[0]
        for name, bound in reversed(clamps):
            limit = _literal(ir.FloatAttr.get(f32, bound - zero_point))
            clamped = _create(name, f32, clamped, limit)
        total = _create("arith.addf", f32, clamped, _literal(ir.FloatAttr.get(f32, _MAGIC)))
        integer = _create("arith.trunci", i8, _create("arith.bitcast", i32, total))
        if zero_point:
            # Add it as an int8. Wrapping is harmless, because the sum is an int8 as well.
            wrapped = (int(zero_point) + 128) % 256 - 128
            integer = _create("arith.addi", i8, integer, _literal(ir.IntegerAttr.get(i8, wrapped)))
        conversion.results[0].replace_all_uses_with(integer)
    for op in chain:
        if not list(op.results[0].uses):
            op.erase()


def _create(name: str, result: Any, *operands: Any) -> Any:
    return ir.Operation.create(name, results=[result], operands=list(operands)).result


def _defined_by(value: Any, names: tuple[str, ...]) -> ir_util.Op | None:
    """Returns the operation that computes `value`, None if it is not one of `names`."""
    owner = value.owner
    return owner if not isinstance(owner, ir.Block) and owner.name in names else None


def _constant(value: Any) -> float | None:
    definition = _defined_by(value, ("arith.constant",))
    return None if definition is None else float(ir.FloatAttr(definition.attributes["value"]).value)


def _literal(attribute: Any) -> Any:
    return ir.Operation.create(
        "arith.constant", results=[attribute.type], attributes={"value": attribute}
    ).result
