"""Operations of arith and math, made from Python. They take tensors as well as scalars."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util

# The numbers of comparisons of floats.
OEQ, OLT, ULT, UNE = 1, 4, 11, 13
# The sign bit of an f32.
SIGN = -(1 << 31)


def signed(size: Any, value: Any) -> Any:
    """Gives a number without a sign that of another. IREE's interpreter has no copysign."""
    kind = like(value, ir.IntegerType.get_signless(32))
    sign = made("arith.bitcast", value, kind=kind)
    sign = made(
        "arith.andi", sign, splat(ir.IntegerAttr.get(ir_util.element_type(kind), SIGN), kind)
    )
    joined = made("arith.ori", made("arith.bitcast", size, kind=kind), sign)
    return made("arith.bitcast", joined, kind=value.type)


def constant(number: float, like: Any) -> Any:
    """Makes a float, or a tensor of it, of the type of another value."""
    return splat(ir.FloatAttr.get(ir_util.element_type(like.type), number), like.type)


def integer(number: int, like: Any) -> Any:
    """Makes an integer, or a tensor of it, of the type of another value. It may be written without its sign."""
    element = ir_util.element_type(like.type)
    number -= (number >> (element.width - 1) & 1) << element.width if number > 0 else 0
    return splat(ir.IntegerAttr.get(element, number), like.type)


def splat(value: Any, kind: Any) -> Any:
    if isinstance(kind, ir.RankedTensorType):
        value = ir.DenseElementsAttr.get_splat(kind, value)
    return ir.Operation.create("arith.constant", [kind], attributes={"value": value}).result


def made(name: str, *operands: Any, kind: Any = None) -> Any:
    return ir.Operation.create(name, [kind or operands[0].type], list(operands)).result


def widened(op: ir_util.Op) -> Any:
    """Returns the operation in f32 that takes the place of one of half floats."""
    wide, half = ir.F32Type.get(), op.results[0].type
    with ir.InsertionPoint(op), op.location:
        operands = [made("arith.extf", each, kind=like(each, wide)) for each in op.operands]
        new = ir.Operation.create(op.name, [like(op.results[0], wide)], operands)
        narrow = made("arith.truncf", new.result, kind=half)
    op.results[0].replace_all_uses_with(narrow)
    op.erase()
    return new


def is_half(kind: Any) -> bool:
    """Whether a type is of half floats, or of tensors of them."""
    return isinstance(ir_util.element_type(kind), (ir.F16Type, ir.BF16Type))


def compared(predicate: int, first: Any, second: Any) -> Any:
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return ir.Operation.create(
        "arith.cmpf",
        [like(first, ir.IntegerType.get_signless(1))],
        [first, second],
        attributes={"predicate": number},
    ).result


def equal(value: Any, number: int) -> Any:
    """Whether integers are this one."""
    predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
    return ir.Operation.create(
        "arith.cmpi",
        [like(value, ir.IntegerType.get_signless(1))],
        [value, integer(number, value)],
        attributes={"predicate": predicate},
    ).result


def like(value: Any, element: Any) -> Any:
    """Returns the type of a value with other elements."""
    kind = value.type
    return ir.RankedTensorType.get(kind.shape, element) if hasattr(kind, "shape") else element


def select(condition: Any, then: Any, otherwise: Any) -> Any:
    return ir.Operation.create("arith.select", [then.type], [condition, then, otherwise]).result


def join(op: ir_util.Op, name: str, more: Any) -> None:
    """Puts the result of a comparison together with another truth value, for all that read it."""
    block = op.block
    operations = list(block.operations)
    following = operations[[item.operation for item in operations].index(op) + 1]
    with ir.InsertionPoint(following), op.location:
        joined = ir.Operation.create(name, [more.type], [op.results[0], more])
    op.results[0].replace_all_uses_except(joined.result, joined)
