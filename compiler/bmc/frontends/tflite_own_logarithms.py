"""LOG_SOFTMAX of int8, which the converter to TOSA lacks, as MLIR.

What depends on the distance of a number to the largest one of its row is in two tables: its power, and the distance
itself. The logarithm of the sum of a row's powers is computed in fixed point, with 31 bits or with those that remain.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text, element

# Bits before the point of distances and of sums, in 31 bits.
_INPUT_BITS, _SUM_BITS = 5, 12
# LiteRT's sums overflow in rows that are longer.
_MOST = 2**_SUM_BITS - 1
# Bits of a result: 1/16 is one, and zero is the zero point.
_ZERO_POINT, _RESULT_BITS = 127, 22
# No result of a distance below this is above the least byte.
_FARTHEST = -17 << (31 - _INPUT_BITS)
_LARGEST = 2**31 - 1
# Constants of LiteRT's polynomials, with 31 bits behind the point.
_ROOT, _HALF_ROOT, _LOG_OF_TWO = 1805811301, 1518500250, 1488522236
_EXP_EIGHTH, _THIRD = 1895147668, 715827883
_EXPS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)


def _log_softmax(op: Operation) -> str:
    (x,), (made,) = op.inputs, op.outputs
    if x.dtype != "int8" or made.dtype != "int8" or not x.scale or x.shape[-1] > _MOST:
        return ""
    text, last = Text(op), len(x.shape) - 1
    own, rows = range(last + 1), range(last)
    distances = _distances(float(x.scale))
    powers = text.constant(np.array([_power(each) for each in distances], np.int32))
    near = [_FARTHEST if each is None else max(each, _FARTHEST) for each in distances]
    places = text.constant(np.array(near, np.int32))
    bytes_ = (text.inputs[0], own)

    def highest(b: Body, value: str, old: str) -> str:
        return b.op("maxsi", value, old, kind="i8")

    def distance(b: Body, value: str, most: str) -> str:
        return b.op("subi", *(b.cast("extsi", each, ("i8", "i32")) for each in (most, value)))

    def summed(b: Body, value: str, most: str, old: str) -> str:
        return b.add(old, element(b, powers, [distance(b, value, most)]))

    def less(b: Body, value: str, most: str, log: str, _: str) -> str:
        rest = b.op("subi", element(b, places, [distance(b, value, most)]), log)
        return b.fitted(b.plus(b.divided(rest, _RESULT_BITS), _ZERO_POINT), "i8")

    tops = text.loop([bytes_], x.shape[:-1], "i8", highest, dims=rows, start="-128")
    operands = [bytes_, (tops, rows)]
    sums = text.loop(operands, x.shape[:-1], "i32", summed, dims=rows, start="0")
    logs = text.loop([(sums, rows)], x.shape[:-1], "i32", lambda b, total, _: _log(b, total))
    return text.function(text.loop([*operands, (logs, rows)], made.shape, "i8", less))


def _distances(scale: float) -> list[int | None]:
    """Returns -n times a scale for n from 0 to 255, None for those that LiteRT takes for infinite."""
    fraction, shift = math.frexp(min(scale * 2 ** (31 - _INPUT_BITS), 2.0**31 - 1))
    multiplier = round(fraction * 2**31)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    most = math.floor(((1 << _INPUT_BITS) - 1) * 2.0 ** (31 - _INPUT_BITS) / 2.0**shift)
    return [_high(-n << shift, multiplier) if n <= most else None for n in range(256)]


def _power(x: int | None) -> int:
    """Returns exp of a distance as a part of a sum."""
    if x is None:
        return 0
    behind, quarter = 31 - _INPUT_BITS, 1 << (29 - _INPUT_BITS)
    part = (x & (quarter - 1)) - quarter
    around = (part << _INPUT_BITS) + (1 << 28)
    square = _high(around, around)
    last = _high(_divided(_high(square, square), 2) + _high(square, around), _THIRD) + square
    power = _EXP_EIGHTH + _high(_EXP_EIGHTH, around + _divided(last, 1))
    for bit, factor in enumerate(_EXPS, behind - 2):
        if (part - x) >> bit & 1:
            power = _high(power, factor)
    return _divided(power if x else _LARGEST, _SUM_BITS)


def _high(a: int, b: int) -> int:
    return (a * b + (1 << 30)) >> 31


def _divided(x: int, bits: int) -> int:
    return (x + (1 << (bits - 1)) - (x < 0)) >> bits


def _log(b: Body, total: str) -> str:
    """Returns the logarithm of a sum of powers, which is no less than 1."""

    def times(x: str, y: str | int) -> str:
        return b.doubled_high(x, y if isinstance(y, str) else b.number(y))

    def shifted(x: str, bits: str) -> str:
        wide = b.op("shli", *(b.cast("extsi", e, ("i32", "i64")) for e in (x, bits)), kind="i64")
        return b.cast(
            "trunci", b.op("minsi", wide, b.number(_LARGEST, "i64"), kind="i64"), ("i64", "i32")
        )

    def bits_before(zeros: str) -> str:
        return b.op("shli", b.minus(_SUM_BITS, zeros), b.number(25))

    # The sum is a power of two times a number around the fourth root of 1/2; of two such pairs, one is near enough.
    zeros = b.line(f"math.ctlz {total} : i32")
    first = b.raised(times(shifted(total, b.plus(zeros, -1)), _HALF_ROOT), 1)
    headroom = b.plus(b.line(f"math.ctlz {times(total, _HALF_ROOT)} : i32"), -1)
    part = b.op("minsi", first, shifted(total, headroom))
    power = b.op(
        "maxsi", b.plus(bits_before(zeros), 1 << 23), b.plus(bits_before(headroom), -(1 << 23))
    )
    # The logarithm of the number is a quotient of polynomials of what it is away from the root.
    away = b.plus(part, -_ROOT)
    away = b.add(away, away)
    # Half the sum of the number and the root, which has 32 bits.
    between = b.plus(b.op("shrsi", b.plus(part, -_ROOT + 1), b.number(1)), _ROOT)
    square = times(away, away)
    above = b.add(times(away, part), times(times(away, square), 117049297))
    below = b.add(b.plus(away, 1057819769), times(square, 127690142))
    below = b.add(times(between, below), times(away, 638450708))
    quotient = times(b.divided(above, 6), _inverse(b, below))
    return b.raised(b.add(times(power, _LOG_OF_TWO), quotient), 1)


def _inverse(b: Body, x: str) -> str:
    """Returns 1 / (1 + x) for x from 0 to 1, in three steps of Newton's method."""
    half = b.plus(b.op("shrsi", x, b.number(1)), 1 << 30)
    made = b.plus(b.doubled_high(half, b.number(-1010580540)), 1515870810)
    for _ in range(3):
        error = b.minus(1 << 29, b.doubled_high(half, made))
        made = b.add(made, b.raised(b.doubled_high(made, error), 2))
    return b.raised(made, 1)


KINDS: dict[str, Callable[[Operation], str]] = {"LOG_SOFTMAX": _log_softmax}
