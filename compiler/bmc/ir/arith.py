"""Operations of arith and math, made from Python. They take tensors as well as scalars."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util

# The numbers of arith.cmpf's predicates, and of arith.cmpi's.
OEQ, OGT, OGE, OLT, OLE, ORD, UGT, ULT, UNE, UNO = 1, 2, 3, 4, 5, 7, 9, 11, 13, 14
I_EQ, I_SGE, I_ULT, I_UGT, I_UGE = 0, 5, 6, 8, 9
# The sign bit of an f32.
SIGN = -(1 << 31)


def signed(size: Any, value: Any) -> Any:
    """Gives a number without a sign that of another. IREE's interpreter has no copysign."""
    kind = like(value, ir.IntegerType.get_signless(32))
    sign = build.op("arith.bitcast", kind, value)
    sign = build.same("arith.andi", sign, build.number(SIGN, kind))
    joined = build.same("arith.ori", build.op("arith.bitcast", kind, size), sign)
    return build.op("arith.bitcast", value.type, joined)


def exact(name: str, *operands: Any) -> Any:
    """Returns the result of an operation on integers that does not wrap around, and says so."""
    return build.same(name, *operands, overflowFlags=ir.Attribute.parse("#arith.overflow<nsw>"))


def widened(op: ir_util.Op) -> Any:
    """Returns the operation in f32 that takes the place of one of half floats."""
    wide, half = ir.F32Type.get(), op.results[0].type
    with ir.InsertionPoint(op), op.location:
        operands = [build.op("arith.extf", like(each, wide), each) for each in op.operands]
        new = ir.Operation.create(op.name, [like(op.results[0], wide)], operands)
        narrow = build.op("arith.truncf", half, new.result)
    op.results[0].replace_all_uses_with(narrow)
    op.erase()
    return new


def is_half(kind: Any) -> bool:
    """Whether a type is of half floats, or of tensors of them."""
    return isinstance(ir_util.element_type(kind), (ir.F16Type, ir.BF16Type))


def compared(number: int, first: Any, second: Any) -> Any:
    """Compares floats or integers; `number` is that of the predicate."""
    is_float = isinstance(ir_util.element_type(first.type), ir.FloatType)
    return build.op(
        "arith.cmpf" if is_float else "arith.cmpi",
        like(first, ir.IntegerType.get_signless(1)),
        first,
        second,
        predicate=predicate_attribute(number),
    )


def predicate_attribute(number: int) -> Any:
    """Returns what a comparison has as its attribute `predicate`."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def predicate(comparison: ir_util.Op) -> int:
    """Returns the number of a comparison's predicate."""
    return int(ir.IntegerAttr(comparison.attributes["predicate"]).value)


def equal(value: Any, number: int) -> Any:
    """Whether integers are this one."""
    return compared(I_EQ, value, build.number(number, value.type))


def like(value: Any, element: Any) -> Any:
    """Returns the type of a value with other elements."""
    kind = value.type
    return ir.RankedTensorType.get(kind.shape, element) if hasattr(kind, "shape") else element


def select(condition: Any, then: Any, otherwise: Any) -> Any:
    return build.op("arith.select", then.type, condition, then, otherwise)


def join(op: ir_util.Op, name: str, more: Any) -> None:
    """Puts the result of a comparison together with another truth value, for all that read it."""
    block = op.block
    operations = list(block.operations)
    following = operations[[item.operation for item in operations].index(op) + 1]
    with ir.InsertionPoint(following), op.location:
        joined = ir.Operation.create(name, [more.type], [op.results[0], more])
    op.results[0].replace_all_uses_except(joined.result, joined)
