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

from bmc.ir import ir_util
from bmc.rewrites.context import Context

_TO_INTEGER = ("arith.fptosi", "arith.fptoui")
CLAMPS = ("arith.maxnumf", "arith.minnumf")
# 1.5 * 2^23. Between 2^23 and 2^24 neighboring f32 values are 1 apart, and their lowest bits count up.
MAGIC = 12582912.0
# Keeps the sum in that range.
LARGEST = 2.0**22


def apply(module: Any, _: Context) -> None:
    """Rewrites every quantization to int8."""
    for op in list(ir_util.walk(module.operation)):
        if op.name in _TO_INTEGER and _is_f32_to_i8(op):
            _rewrite(op)


def _is_f32_to_i8(op: ir_util.Op) -> bool:
    return str(op.operands[0].type) == "f32" and str(op.results[0].type) == "i8"


def _rewrite(conversion: ir_util.Op) -> None:
    """Rewrites a conversion if its operand is rounded, shifted by an integer and clamped."""
    limits, value = clamps(conversion.operands[0])
    if any(abs(bound) > LARGEST for _, bound in limits):
        return
    chain = [conversion, *(clamp for clamp, _ in limits)]
    zero_point: float | None = 0.0
    if (shift := _defined_by(value, ("arith.addf",))) is not None:
        zero_point = constant(shift.operands[1])
        chain.append(shift)
        value = shift.operands[0]
    rounding = _defined_by(value, ("math.roundeven",))
    if rounding is None or {clamp.name for clamp, _ in limits} != set(CLAMPS):
        return
    if zero_point is None or zero_point not in range(-128, 256):
        return
    chain.append(rounding)
    f32, i32, i8 = value.type, ir.IntegerType.get_signless(32), conversion.results[0].type
    with ir.InsertionPoint(conversion), conversion.location:
        clamped = rounding.operands[0]
        for clamp, bound in reversed(limits):
            limit = literal(ir.FloatAttr.get(f32, bound - zero_point))
            clamped = create(clamp.name, f32, clamped, limit)
        magic = MAGIC + (0 if zero_point % 2 else zero_point)
        total = create("arith.addf", f32, clamped, literal(ir.FloatAttr.get(f32, magic)))
        for ops in _dequantizations(conversion.results[0], int(zero_point)):
            with ir.InsertionPoint(ops[0]), ops[0].location:
                number = literal(ir.FloatAttr.get(f32, magic))
                value = create("arith.subf", f32, total, number)
            ops[0].results[0].replace_all_uses_with(value)
            erase_unread(ops)
        integer = create("arith.trunci", i8, create("arith.bitcast", i32, total))
        if zero_point % 2:
            # Add it as an int8. Wrapping is harmless, because the sum is an int8 as well.
            wrapped = (int(zero_point) + 128) % 256 - 128
            integer = create("arith.addi", i8, integer, literal(ir.IntegerAttr.get(i8, wrapped)))
        conversion.results[0].replace_all_uses_with(integer)
    erase_unread(chain)


def is_magic(value: float | None) -> bool:
    """Whether this is MAGIC, with a zero point or without."""
    return value is not None and abs(value - MAGIC) <= 256


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


def clamps(value: ir_util.Value) -> tuple[list[tuple[ir_util.Op, float]], ir_util.Value]:
    """Returns the clamps to constants that end in `value`, the last one first, and what they clamp."""
    found: list[tuple[ir_util.Op, float]] = []
    while (clamp := _defined_by(value, CLAMPS)) is not None:
        bound = constant(clamp.operands[1])
        if bound is None:
            break
        found.append((clamp, bound))
        value = clamp.operands[0]
    return found, value


def erase_unread(chain: list[ir_util.Op]) -> None:
    """Erases the operations that nothing reads, each of which reads the next."""
    for op in chain:
        if not list(op.results[0].uses):
            op.erase()


def create(name: str, result: Any, *operands: Any) -> Any:
    """Returns the result of a new operation."""
    return ir.Operation.create(name, results=[result], operands=list(operands)).result


def _defined_by(value: Any, names: tuple[str, ...]) -> ir_util.Op | None:
    """Returns the operation that computes `value`, None if it is not one of `names`."""
    owner = value.owner
    return owner if not isinstance(owner, ir.Block) and owner.name in names else None


def constant(operand: Any) -> float | None:
    """Returns the value of a scalar constant in floating point, None for anything else."""
    definition = _defined_by(operand, ("arith.constant",))
    value = None if definition is None else definition.attributes["value"]
    return float(value.value) if isinstance(value, ir.FloatAttr) else None


def literal(attribute: Any) -> Any:
    """Returns a new constant."""
    return ir.Operation.create(
        "arith.constant", results=[attribute.type], attributes={"value": attribute}
    ).result
