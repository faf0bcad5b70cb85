"""Ops on bytes, which the converter to TOSA lacks or computes otherwise than LiteRT's kernels, as MLIR."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bmc.frontends import tflite_text
from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text, compare, element

_COMPARISONS = {
    "EQUAL": "eq",
    "GREATER": "gt",
    "GREATER_EQUAL": "ge",
    "LESS": "lt",
    "LESS_EQUAL": "le",
    "NOT_EQUAL": "ne",
}
# Bits that a byte gets before it is scaled to be compared.
_MORE = 8
# L2_NORMALIZATION: results count in 1/128; sums of squares that LiteRT takes the root of as they are.
_UNIT_BITS, _LARGEST_SUM = 7, 2**29
# The shift of an inverse root whose integer is not shifted, and sqrt(1/2) with 31 bits behind the point.
_ROOT_BITS, _HALF_ROOT_OF_TWO = 11, 1518500250


def _compared(op: Operation) -> str:
    """Comparisons of bytes with scales of their own."""
    if any(each.dtype != "int8" or not 0 < each.scale < 1 for each in op.inputs):
        return ""

    def body(b: Body, *elements: str) -> str:
        sides = []
        for tensor, byte in zip(op.inputs, elements[:2], strict=True):
            x = b.plus(b.cast("extsi", byte, ("i8", "i32")), -tensor.zero)
            multipliers, shifts = tflite_text.multipliers(np.array([tensor.scale]), 31)
            wide = b.op("shli", x, b.number(_MORE))
            sides.append(b.scaled(wide, int(multipliers[0]), int(shifts[0])))
        return compare(b, _COMPARISONS[op.kind], sides[0], sides[1], "i32")

    return Text(op).broadcast(body)


def _least(op: Operation) -> str:
    """ARG_MIN: the largest of the numbers from the other end; the converter's has no bytes."""
    x, made = op.inputs[0], op.outputs[0]
    axis = op.inputs[1].value
    if x.dtype != "int8" or axis is None:
        return ""
    text, rank = Text(op), len(x.shape)
    own = range(rank)

    def opposite(b: Body, value: str, _: str) -> str:
        return b.op("xori", value, b.number(-1, "i8"), kind="i8")

    turned = text.loop([(text.inputs[0], own)], x.shape, "i8", opposite)
    along = int(axis.reshape(())) % rank
    places = text.operation(
        f'"tosa.argmax"(%{turned.name}) <{{axis = {along} : i32}}> : ({turned.type}) ->',
        made.shape,
        "i32",
    )
    if made.element == "i64":
        rows = range(len(made.shape))
        places = text.loop(
            [(places, rows)],
            made.shape,
            "i64",
            lambda b, place, _: b.cast("extsi", place, ("i32", "i64")),
        )
    return text.function(places)


def _size(op: Operation) -> str:
    """ABS of int16; tflite_tables.py has that of int8."""
    (x,), (made,) = op.inputs, op.outputs
    if x.dtype != "int16" or not (x.scale and made.scale):
        return ""
    multipliers, shifts = tflite_text.multipliers(np.array([x.scale / made.scale]), 31)

    def body(b: Body, value: str, _: str) -> str:
        number = b.cast("extsi", value, ("i16", "i32"))
        size = b.op("maxsi", number, b.minus(0, number))
        if x.scale != made.scale:
            size = b.scaled(size, int(multipliers[0]), int(shifts[0]))
        return b.fitted(size, "i16")

    return Text(op).broadcast(body)


def _quotient(op: Operation) -> str:
    """DIV: a product with the reciprocal of the divisor, of which a table has all.

    Of tiny quotients, which are zero here, LiteRT shifts by more bits than there are and returns anything.
    """
    (made,) = op.outputs
    if any(each.dtype != "int8" or not each.scale for each in (*op.inputs, made)):
        return ""
    if op.options.fusedActivationFunction:
        return ""
    text = Text(op)
    dividend, divisor = op.inputs
    reciprocals = text.constant(np.array([0, *map(_reciprocal, range(1, 256))], np.int32))
    scale = float(dividend.scale) / (float(divisor.scale) * float(made.scale))
    multipliers, shifts = tflite_text.multipliers(np.array([scale]), 31)

    def body(b: Body, x: str, y: str, _: str) -> str:
        x = b.plus(b.cast("extsi", x, ("i8", "i32")), -dividend.zero)
        y = b.plus(b.cast("extsi", y, ("i8", "i32")), -divisor.zero)
        is_below = compare(b, "lt", y, b.number(0), "i32")
        x = b.select(is_below, b.minus(0, x), x)
        y = b.select(is_below, b.minus(0, y), y)
        # So many bits x may be shifted to the left.
        opposite = b.op("addi", *[b.minus(0, x)] * 2)
        size = b.select(compare(b, "lt", x, b.number(0), "i32"), b.plus(opposite, -1), b.add(x, x))
        room = b.line(f"math.ctlz {size} : i32")
        # Zero has 31, and not as many as its double.
        room = b.op("minsi", room, b.number(31))
        inverse = element(b, reciprocals, [y])
        quotient = b.doubled_high(b.op("shli", x, room), inverse)
        scaled = b.doubled_high(quotient, b.number(int(multipliers[0])))
        # The reciprocal counts in 2^-31 of the power of two that is not above the divisor.
        unit = b.minus(31, b.line(f"math.ctlz {y} : i32"))
        bits = b.plus(b.add(unit, room), int(shifts[0]) - 31)
        bits = b.limit(bits, 0, 31)
        return b.fitted(b.plus(b.divided_by(scaled, bits), made.zero), "i8")

    return text.broadcast(body)


def _reciprocal(divisor: int) -> int:
    """Returns 2^31 times a power of two by an integer, in the three steps of Newton's method that LiteRT takes."""

    def high(a: int, b: int) -> int:
        return (a * b + (1 << 30)) >> 31

    fraction = (divisor << (32 - divisor.bit_length())) - (1 << 31)
    half = (fraction + (1 << 31)) // 2
    x = 1515870810 + high(half, -1010580540)
    for _ in range(3):
        x += high(x, (1 << 29) - high(half, x)) << 2
    return min(x << 1, 2**31 - 1)


def _unit_rows(op: Operation) -> str:
    """L2_NORMALIZATION: rows are multiplied by the inverse root of the sum of their squares."""
    (x,), (made,) = op.inputs, op.outputs
    # LiteRT divides larger sums before it takes their roots.
    if x.dtype != "int8" or not x.scale or x.shape[-1] * 2**16 >= _LARGEST_SUM:
        return ""
    text, rank = Text(op), len(x.shape)
    rows = range(rank - 1)

    def square(b: Body, value: str, old: str) -> str:
        number = b.plus(b.cast("extsi", value, ("i8", "i32")), -x.zero)
        return b.add(old, b.op("muli", number, number))

    operand = (text.inputs[0], range(rank))
    sums = text.loop([operand], x.shape[:-1], "i32", square, dims=rows, start="0")
    roots, shifts = text.each([sums], ["i32", "i32"], _inverse_root)

    def body(b: Body, value: str, root: str, shift: str, _: str) -> str:
        number = b.plus(b.cast("extsi", value, ("i8", "i32")), -x.zero)
        left = b.op("maxsi", b.minus(_UNIT_BITS, shift), b.number(0))
        right = b.op("maxsi", b.plus(shift, -_UNIT_BITS), b.number(0))
        product = b.doubled_high(b.op("shli", number, left), root)
        return b.fitted(b.divided_by(product, right), "i8")

    operands = [operand, (roots, rows), (shifts, rows)]
    return text.function(text.loop(operands, made.shape, "i8", body))


def _inverse_root(b: Body, total: str) -> list[str]:
    """Returns 1 / root of an integer as a multiplier and a shift to the right, in five steps of Newton's method."""
    least = b.op("maxsi", total, b.number(2))
    zeros = b.line(f"math.ctlz {least} : i32")
    # Pairs of bits that the integer may be shifted to the left, but one.
    pairs = b.plus(b.op("shrsi", b.plus(zeros, -1), b.number(1)), -1)
    shifted = b.op("shli", least, b.add(pairs, pairs))
    half = b.divided(b.op("shrsi", shifted, b.number(1)), 1)
    x = b.number(1 << 28)
    for _ in range(5):
        cube = b.raised(b.doubled_high(b.doubled_high(x, x), x), 6)
        more = b.doubled_high(b.number(3 << 27), x)
        x = b.raised(b.op("subi", more, b.doubled_high(half, cube)), 3)
    root = b.doubled_high(x, b.number(_HALF_ROOT_OF_TWO))
    shift = b.minus(_ROOT_BITS, pairs)
    too_few = b.op("maxsi", b.minus(0, shift), b.number(0))
    root = b.op("shli", root, too_few)
    is_small = compare(b, "le", total, b.number(1), "i32")
    return [
        b.select(is_small, b.number(2**31 - 1), root),
        b.select(is_small, b.number(0), b.op("maxsi", shift, b.number(0))),
    ]


KINDS: dict[str, Callable[[Operation], str]] = {
    "ABS": _size,
    "ARG_MIN": _least,
    "DIV": _quotient,
    "L2_NORMALIZATION": _unit_rows,
    **dict.fromkeys(_COMPARISONS, _compared),
}
