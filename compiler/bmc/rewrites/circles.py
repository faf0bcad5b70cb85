"""Computes sine, cosine and tangent of all numbers as exactly as those of small ones, with the signs of zeros.

IREE subtracts a rounded multiple of pi. With numbers of some thousands, results are off in the fourth digit, and with
numbers of some millions they are arbitrary. Here integers multiply the number by as many digits of 1 / (2 * pi) as
matter to the fraction of a turn that it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from iree.compiler import ir

from bmc.ir import arith, ir_util, permute

_SINES = ("math.sin", "stablehlo.sine", "tosa.sin")
_COSINES = ("math.cos", "stablehlo.cosine", "tosa.cos")
_TANGENTS = ("math.tan", "stablehlo.tan", "chlo.tan")
# The first bits of 1 / (2 * pi), 32 in each number, with as many zeros before the point.
_TURN = (
    *(0, 0x28BE60DB, 0x9391054A, 0x7F09D5F4),
    *(0x7D4D3770, 0x36D8A566, 0x4F10E410, 0x7F9458EA),
)
# The exponent of f32 below which numbers are angles as they are: less than 2 ** -9.
_LEAST = 118
# Of the series, from the first power after the one that all begin with.
_SINE = tuple((-1) ** n / math.factorial(2 * n + 1) for n in (1, 2, 3, 4))
_COSINE = tuple((-1) ** n / math.factorial(2 * n) for n in (1, 2, 3, 4, 5))


def apply(module: Any, _: object = None) -> None:
    """Rewrites such operations on f32, on half floats, and on tensors of them."""
    for op in list(ir_util.walk(module.operation)):
        if op.name not in (*_SINES, *_COSINES, *_TANGENTS):
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
    size = arith.made("math.absf", x)
    quarters, rest = _reduced(size)
    sine, cosine = _series(rest)
    if name in _COSINES:
        quarters = _with("addi", quarters, 1)
    odd = arith.made("arith.trunci", quarters, kind=_kind(x, 1))
    result = arith.select(odd, cosine, sine)
    flips = _with("shli", _with("andi", quarters, 2), 30)
    if name in _TANGENTS:
        result = arith.made("arith.divf", result, arith.select(odd, sine, cosine))
        flips = _with("shli", quarters, 31)
    if name not in _COSINES:
        sign = _with("andi", arith.made("arith.bitcast", x, kind=_kind(x, 32)), arith.SIGN)
        flips = arith.made("arith.xori", flips, sign)
    bits = arith.made("arith.bitcast", result, kind=flips.type)
    result = arith.made("arith.bitcast", arith.made("arith.xori", bits, flips), kind=x.type)
    finite = arith.compared(arith.OLT, size, arith.constant(math.inf, x))
    return arith.select(finite, result, arith.constant(math.nan, x))


def _reduced(size: Any) -> tuple[Any, Any]:
    """Returns how many quarter turns are nearest to an angle, of which the last two bits count, and the rest of it."""
    bits = arith.made("arith.bitcast", size, kind=_kind(size, 32))
    exponent = _with("shrui", bits, 23)
    # A number is an integer of 24 bits times a power of 2, which decides the first digit that matters.
    whole = _wide(_with("ori", _with("andi", bits, 0x7FFFFF), 0x800000))
    place = _with("subi", exponent, _LEAST)
    group, shift = _with("shrui", place, 5), _wide(_with("andi", place, 31))
    # The parts of the product that are fractions of a turn, as far as 64 bits have them.
    high, middle, low = (
        arith.made("arith.muli", whole, digits) for digits in _digits(group, shift)
    )
    turn = arith.made("arith.addi", _with("shli", high, 32), middle)
    turn = arith.made("arith.addi", turn, _with("shrui", low, 32))
    quarters = _with("shrui", _with("addi", turn, 1 << 61), 62)
    turn = arith.made("arith.subi", turn, _with("shli", quarters, 62))
    upper = _float(_with("shrsi", turn, 32), size)
    lower = _float(_with("andi", _with("shrui", turn, 1), 0x7FFFFFFF), size)
    lower = arith.made("arith.mulf", lower, arith.constant(2.0**-31, size))
    angle = arith.made("arith.addf", upper, lower)
    angle = arith.made("arith.mulf", angle, arith.constant(math.tau * 2.0**-32, size))
    quarters = arith.made("arith.trunci", quarters, kind=bits.type)
    small = arith.compared(arith.OLT, size, arith.constant(2.0 ** (_LEAST - 127), size))
    none = arith.splat(ir.IntegerAttr.get(ir_util.element_type(bits.type), 0), bits.type)
    return arith.select(small, none, quarters), arith.select(small, size, angle)


def _digits(group: Any, shift: Any) -> Iterator[Any]:
    """Yields three numbers of 32 bits that follow each other in the digits, from the bit `shift` of a group on."""
    for index in range(3):
        pairs = [
            first << 32 | second
            for first, second in zip(_TURN[index:], _TURN[index + 1 :], strict=False)
        ]
        found = arith.integer(pairs[4], shift)
        for number in range(4):
            found = arith.select(
                arith.equal(group, number), arith.integer(pairs[number], shift), found
            )
        yield _with("shrui", arith.made("arith.shli", found, shift), 32)


def _series(angle: Any) -> tuple[Any, Any]:
    """Returns sine and cosine of an angle of at most an eighth of a turn."""
    square = arith.made("arith.mulf", angle, angle)
    sine = arith.made("arith.mulf", angle, _polynomial(square, _SINE))
    cosine = _polynomial(square, _COSINE)
    sine = arith.made("arith.addf", arith.made("arith.mulf", sine, square), angle)
    cosine = arith.made("arith.mulf", cosine, square)
    return sine, arith.made("arith.addf", cosine, arith.constant(1.0, angle))


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    *others, last = coefficients
    result = arith.constant(last, x)
    for coefficient in reversed(others):
        result = arith.made("arith.mulf", result, x)
        result = arith.made("arith.addf", result, arith.constant(coefficient, x))
    return result


def _with(name: str, value: Any, number: int) -> Any:
    return arith.made(f"arith.{name}", value, arith.integer(number, value))


def _wide(value: Any) -> Any:
    return arith.made("arith.extui", value, kind=_kind(value, 64))


def _float(value: Any, like: Any) -> Any:
    """Makes a float of a 64-bit integer that needs 32 bits."""
    narrow = arith.made("arith.trunci", value, kind=_kind(value, 32))
    return arith.made("arith.sitofp", narrow, kind=like.type)


def _kind(value: Any, bits: int) -> Any:
    return arith.like(value, ir.IntegerType.get_signless(bits))
