"""Computes sine, cosine and tangent of all numbers as exactly as those of small ones, with the signs of zeros.

IREE subtracts a rounded multiple of pi. With numbers of some thousands, results are off in the fourth digit, and with
numbers of some millions they are arbitrary. Here integers multiply the number by as many digits of 1 / (2 * pi) as
matter to the fraction of a turn that it is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

from iree.compiler import ir

from bmc.ir import arith, build, ir_util, permute

_SINES = ("math.sin", "stablehlo.sine", "tosa.sin")
_COSINES = ("math.cos", "stablehlo.cosine", "tosa.cos")
_TANGENTS = ("math.tan", "stablehlo.tan", "chlo.tan")
KNOWN = (*_SINES, *_COSINES, *_TANGENTS)
# Words of 32 bits of 1 / (2 * pi), and how many of them are zeros before the point.
_WORDS, _ZEROS = 8, 1
# The exponent of f32 below which numbers are angles as they are: less than 2 ** -9.
_LEAST = 118
# Of the series, from the first power after the one that all begin with.
_SINE = tuple((-1) ** n / math.factorial(2 * n + 1) for n in (1, 2, 3, 4))
_COSINE = tuple((-1) ** n / math.factorial(2 * n) for n in (1, 2, 3, 4, 5))


def apply(module: Any, _: object = None) -> None:
    """Rewrites such operations on f32, on half floats, and on tensors of them."""
    for op in list(ir_util.walk(module.operation)):
        if op.name not in KNOWN:
            continue
        if arith.is_half(op.results[0].type):
            op = arith.widened(op)
        if not isinstance(ir_util.element_type(op.results[0].type), ir.F32Type):
            continue
        with ir.InsertionPoint(op), op.location:
            made = _made(op.name, op.operands[0])
        op.results[0].replace_all_uses_with(made)
        op.erase()


def _made(name: str, x: Any) -> Any:
    if not isinstance(x.type, ir.RankedTensorType):
        return _computed(name, x)
    shape, each = list(x.type.shape), ir.AffineMap.get_identity(x.type.rank)
    return permute.computed(
        x, shape, x.type.element_type, each, lambda element: _computed(name, element)
    )


def _computed(name: str, x: Any) -> Any:
    size = build.same("math.absf", x)
    quarters, rest = _reduced(size)
    sine, cosine = _series(rest)
    return turned(name, x, size, quarters, sine, cosine)


def turned(name: str, x: Any, size: Any, quarters: Any, sine: Any, cosine: Any) -> Any:
    """Returns one of the functions of an angle.

    Args:
      name: of an operation in KNOWN.
      x: the angle, f32 or f64.
      size: the angle without its sign.
      quarters: how many quarter turns are nearest to that, as an integer of as many bits; the last two count.
      sine, cosine: of what is left of the angle.
    """
    bits = 64 if isinstance(ir_util.element_type(x.type), ir.F64Type) else 32
    sign = -(1 << bits - 1)
    if name in _COSINES:
        quarters = _with("addi", quarters, 1)
    odd = build.op("arith.trunci", _kind(x, 1), quarters)
    result = arith.select(odd, cosine, sine)
    flips = _with("shli", _with("andi", quarters, 2), bits - 2)
    if name in _TANGENTS:
        result = build.same("arith.divf", result, arith.select(odd, sine, cosine))
        flips = _with("shli", quarters, bits - 1)
    if name not in _COSINES:
        own = _with("andi", build.op("arith.bitcast", _kind(x, bits), x), sign)
        flips = build.same("arith.xori", flips, own)
    whole = build.op("arith.bitcast", flips.type, result)
    result = build.op("arith.bitcast", x.type, build.same("arith.xori", whole, flips))
    finite = arith.compared(arith.OLT, size, build.number(math.inf, x.type))
    return arith.select(finite, result, build.number(math.nan, x.type))


def _reduced(size: Any) -> tuple[Any, Any]:
    """Returns how many quarter turns are nearest to an angle, of which the last two bits count, and the rest of it."""
    bits = build.op("arith.bitcast", _kind(size, 32), size)
    exponent = _with("shrui", bits, 23)
    # A number is an integer of 24 bits times a power of 2, which decides the first digit that matters.
    whole = _wide(_with("ori", _with("andi", bits, 0x7FFFFF), 0x800000))
    place = _with("subi", exponent, _LEAST)
    group, shift = _with("shrui", place, 5), _wide(_with("andi", place, 31))
    # The parts of the product that are fractions of a turn, as far as 64 bits have them.
    high, middle, low = (
        build.same("arith.muli", whole, digits) for digits in _digits(group, shift)
    )
    turn = build.same("arith.addi", _with("shli", high, 32), middle)
    turn = build.same("arith.addi", turn, _with("shrui", low, 32))
    quarters = _with("shrui", _with("addi", turn, 1 << 61), 62)
    turn = build.same("arith.subi", turn, _with("shli", quarters, 62))
    upper = _float(_with("shrsi", turn, 32), size)
    lower = _float(_with("andi", _with("shrui", turn, 1), 0x7FFFFFFF), size)
    lower = build.same("arith.mulf", lower, build.number(2.0**-31, size.type))
    angle = build.same("arith.addf", upper, lower)
    angle = build.same("arith.mulf", angle, build.number(math.tau * 2.0**-32, size.type))
    quarters = build.op("arith.trunci", bits.type, quarters)
    small = arith.compared(arith.OLT, size, build.number(2.0 ** (_LEAST - 127), size.type))
    none = build.number(0, bits.type)
    return arith.select(small, none, quarters), arith.select(small, size, angle)


@functools.cache
def digits(words: int, zeros: int) -> list[int]:
    """Returns the first bits of 1 / (2 * pi), 32 in each word, after words of zeros. Pi is by Machin's formula."""
    places = 32 * words + 64

    def arc_tangent(inverse: int) -> int:
        power, total, n = (1 << places) // inverse, 0, 1
        while power:
            total += power // n if n % 4 == 1 else -(power // n)
            power, n = power // inverse**2, n + 2
        return total

    pi = 4 * (4 * arc_tangent(5) - arc_tangent(239))
    bits = (1 << 2 * places) // (2 * pi)
    count = words - zeros
    return [0] * zeros + [bits >> places - 32 * (n + 1) & 0xFFFFFFFF for n in range(count)]


def _digits(group: Any, shift: Any) -> Iterator[Any]:
    """Yields three numbers of 32 bits that follow each other in the digits, from the bit `shift` of a group on."""
    words = digits(_WORDS, _ZEROS)
    for index in range(3):
        pairs = [
            first << 32 | second
            for first, second in zip(words[index:], words[index + 1 :], strict=False)
        ]
        found = build.number(pairs[4], shift.type)
        for number in range(4):
            found = arith.select(
                arith.equal(group, number), build.number(pairs[number], shift.type), found
            )
        yield _with("shrui", build.same("arith.shli", found, shift), 32)


def _series(angle: Any) -> tuple[Any, Any]:
    """Returns sine and cosine of an angle of at most an eighth of a turn."""
    square = build.same("arith.mulf", angle, angle)
    sine = build.same("arith.mulf", angle, polynomial(square, _SINE))
    cosine = polynomial(square, _COSINE)
    sine = build.same("arith.addf", build.same("arith.mulf", sine, square), angle)
    cosine = build.same("arith.mulf", cosine, square)
    return sine, build.same("arith.addf", cosine, build.number(1.0, angle.type))


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Returns a sum of powers; the first coefficient belongs to none."""
    *others, last = coefficients
    result = build.number(last, x.type)
    for coefficient in reversed(others):
        result = build.same("arith.mulf", result, x)
        result = build.same("arith.addf", result, build.number(coefficient, x.type))
    return result


def _with(name: str, value: Any, number: int) -> Any:
    return build.same(f"arith.{name}", value, build.number(number, value.type))


def _wide(value: Any) -> Any:
    return build.op("arith.extui", _kind(value, 64), value)


def _float(value: Any, like: Any) -> Any:
    """Makes a float of a 64-bit integer that needs 32 bits."""
    narrow = build.op("arith.trunci", _kind(value, 32), value)
    return build.op("arith.sitofp", like.type, narrow)


def _kind(value: Any, bits: int) -> Any:
    return arith.like(value, ir.IntegerType.get_signless(bits))
