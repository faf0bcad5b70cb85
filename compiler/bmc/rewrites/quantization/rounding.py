"""Quantization rounds with an addition.

IREE quantizes f32 to int8 as fptosi(min(max(roundeven(x / scale) + zero point, -128), 127)). RISC-V has no
vector instruction that rounds to a float, so this takes about ten of them and switches the rounding mode
twice. If x / scale is clamped first, it is so small that adding 1.5 * 2^23 leaves no bits for a fraction.
The addition itself then rounds to nearest, ties to even, and the lowest bits of the sum hold the integer.
The result is the same for every x, including infinities and NaN. An even zero point is part of what is added, because
it does not change which integer is the even one. If the int8 is dequantized at once, the addition is undone instead.

QEMU 7.2 aborts on vfcvt.rtz.x.f.v, which is what fptosi becomes, unless an earlier instruction of the same
block uses the dynamic rounding mode. Rewritten kernels run there too.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util
from bmc.rewrites.context import Context
from bmc.rewrites.quantization import magic_number

_TO_INTEGER = ("arith.fptosi", "arith.fptoui")


def apply(module: Any, _: Context) -> None:
    """Rewrites every quantization to int8."""
    for op in list(ir_util.walk(module.operation)):
        if op.name in _TO_INTEGER and _is_f32_to_i8(op):
            _rewrite(op)


def _is_f32_to_i8(op: ir_util.Op) -> bool:
    return str(op.operands[0].type) == "f32" and str(op.results[0].type) == "i8"


def _rewrite(conversion: ir_util.Op) -> None:
    """Rewrites a conversion if its operand is rounded, shifted by an integer and clamped."""
    limits, value = magic_number.clamps(conversion.operands[0])
    if any(abs(bound) > magic_number.LARGEST for _, bound in limits):
        return
    chain = [conversion, *(clamp for clamp, _ in limits)]
    zero_point: float | None = 0.0
    if (shift := ir_util.defined_by(value, "arith.addf")) is not None:
        zero_point = ir_util.float_constant(shift.operands[1])
        chain.append(shift)
        value = shift.operands[0]
    rounding = ir_util.defined_by(value, "math.roundeven")
    if rounding is None or {clamp.name for clamp, _ in limits} != set(magic_number.CLAMPS):
        return
    if zero_point is None or zero_point not in range(-128, 256):
        return
    chain.append(rounding)
    f32, i32, i8 = value.type, ir.IntegerType.get_signless(32), conversion.results[0].type
    with ir.InsertionPoint(conversion), conversion.location:
        clamped = rounding.operands[0]
        for clamp, bound in reversed(limits):
            limit = build.number(bound - zero_point, f32)
            clamped = build.op(clamp.name, f32, clamped, limit)
        magic = magic_number.MAGIC + (0 if zero_point % 2 else zero_point)
        total = build.op("arith.addf", f32, clamped, build.number(magic, f32))
        for ops in _dequantizations(conversion.results[0], int(zero_point)):
            with ir.InsertionPoint(ops[0]), ops[0].location:
                number = build.number(magic, f32)
                value = build.op("arith.subf", f32, total, number)
            ops[0].results[0].replace_all_uses_with(value)
            ir_util.erase_unread(ops)
        integer = build.op("arith.trunci", i8, build.op("arith.bitcast", i32, total))
        if zero_point % 2:
            # Add it as an int8. Wrapping is harmless, because the sum is an int8 as well.
            wrapped = (int(zero_point) + 128) % 256 - 128
            integer = build.op("arith.addi", i8, integer, build.number(wrapped, i8))
        conversion.results[0].replace_all_uses_with(integer)
    ir_util.erase_unread(chain)


def _dequantizations(integer: ir_util.Value, zero_point: int) -> list[list[ir_util.Op]]:
    """Returns what makes an f32 of an int8 without its zero point, the last operation of each first."""
    found = []
    pending: list[tuple[ir_util.Value, list[ir_util.Op]]] = [(integer, [])]
    while pending:
        value, before = pending.pop()
        is_shifted = any(op.name == "arith.subi" for op in before)
        for op, place in ir_util.uses(value):
            chain = [op, *before]
            if op.name == "arith.extsi":
                pending.append((op.results[0], chain))
            elif op.name == "arith.subi" and place == 0 and before and not is_shifted:
                if ir_util.constant(op.operands[1]) == zero_point:
                    pending.append((op.results[0], chain))
            elif (
                op.name == "arith.sitofp"
                and str(op.results[0].type) == "f32"
                and is_shifted == bool(zero_point)
            ):
                found.append(chain)
    return found
