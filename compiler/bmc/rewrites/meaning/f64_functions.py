"""Computes sine, cosine, tangent, arc tangent and hyperbolic tangent of f64, for which IREE's library has no functions.

An angle is an integer times a power of 2, which chooses the bits of 1 / (2 * pi) that matter to the fraction of a turn
that it is (Payne and Hanek 1983; trigonometry.py does so for f32). An arc tangent is a series between -tan(pi / 8) and
tan(pi / 8), to which angles of an eighth and of a quarter of a turn are added.
"""

from __future__ import annotations

import math
from typing import Any

from iree.compiler import ir

from bmc.ir import arith, build, ir_util
from bmc.rewrites.meaning import f64_constants, trigonometry

_HYPERBOLIC = ("math.tanh", "stablehlo.tanh")
_ARC, _ARC_OF_TWO = ("math.atan",), ("math.atan2", "stablehlo.atan2")
_KNOWN = (*trigonometry.KNOWN, *_HYPERBOLIC, *_ARC, *_ARC_OF_TWO)

# A mantissa is two integers, the lower one of this many bits.
_LOW = 26
# The exponent below which an angle is what it is: 2 ** -6.
_LEAST = 1023 - 6
# Words of 32 bits that choose the bits of the largest exponent, and zeros before the first one, for the lower integer.
_WORDS, _ZEROS = 38, 2
_SINE = tuple((-1) ** n / math.factorial(2 * n + 1) for n in range(10))
_COSINE = tuple((-1) ** n / math.factorial(2 * n) for n in range(10))
_ARC_TERMS = tuple((-1) ** n / (2 * n + 1) for n in range(22))
# Where tanh is a continued fraction, and its numbers from the last one on.
_NEAR, _FRACTIONS = 0.5, (17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0)


def apply(module: Any, _: object = None) -> None:
    """Rewrites such operations on f64 and on tensors of them, in a model that computes in f64."""
    ops = list(ir_util.walk(module.operation))
    if not f64_constants.keeps_f64(ops):
        return
    for op in ops:
        if op.name not in _KNOWN:
            continue
        if not isinstance(ir_util.element_type(op.results[0].type), ir.F64Type):
            continue
        with ir.InsertionPoint(op), op.location:
            made = _computed(op.name, list(op.operands))
        op.results[0].replace_all_uses_with(made)
        op.erase()


def _computed(name: str, operands: list[Any]) -> Any:
    first = operands[0]
    if isinstance(first.type, ir.RankedTensorType):
        each = [ir.AffineMap.get_identity(first.type.rank)] * (len(operands) + 1)
        output = build.op("tensor.empty", first.type)
        return build.elementwise(
            operands, output, each, lambda *elements: _computed(name, list(elements))
        )
    if name in _HYPERBOLIC:
        return _tanh(first)
    if name in _ARC:
        return _arc_tangent(first, build.number(1.0, first.type))
    if name in _ARC_OF_TWO:
        return _arc_tangent(*operands)
    return _of_angle(name, first)


def _tanh(x: Any) -> Any:
    """Takes Lambert's continued fraction near 0, where a power minus 1 has few digits."""
    size = build.same("math.absf", x)
    power = build.same("math.exp", build.same("arith.addf", size, size))
    share = build.same("arith.divf", build.number(2.0, x.type), _plus(power, 1.0))
    square, fraction = build.same("arith.mulf", size, size), build.number(_FRACTIONS[0], x.type)
    for number in _FRACTIONS[1:]:
        fraction = _plus(build.same("arith.divf", square, fraction), number)
    near = build.same("arith.divf", size, fraction)
    is_near = arith.compared(arith.OLT, size, build.number(_NEAR, x.type))
    return _signed(arith.select(is_near, near, _from(1.0, share)), x)


def _arc_tangent(y: Any, x: Any) -> Any:
    """Returns the angle of a point, by the quotient of its smaller coordinate and the larger one."""
    height, width = build.same("math.absf", y), build.same("math.absf", x)
    is_steep = arith.compared(arith.OGT, height, width)
    small, large = (
        arith.select(is_steep, width, height), arith.select(is_steep, height, width)
    )  # fmt: skip
    one, zero = build.number(1.0, x.type), build.number(0.0, x.type)
    ratio = build.same("arith.divf", small, large)
    # Neither two zeros nor two infinite numbers have a quotient.
    alike = arith.select(arith.compared(arith.OEQ, large, zero), zero, one)
    ratio = arith.select(arith.compared(arith.OEQ, small, large), alike, ratio)
    is_wide = arith.compared(arith.OGT, ratio, build.number(math.sqrt(2) - 1, x.type))
    turned = build.same("arith.divf", _plus(ratio, -1.0), _plus(ratio, 1.0))
    base = arith.select(is_wide, turned, ratio)
    series = build.same(
        "arith.mulf",
        base,
        trigonometry.polynomial(build.same("arith.mulf", base, base), _ARC_TERMS),
    )
    angle = arith.select(is_wide, _plus(series, math.pi / 4), series)
    angle = arith.select(is_steep, _from(math.pi / 2, angle), angle)
    is_left = arith.compared(arith.I_SGE, build.number(-1, _bits_type(x)), _bits(x))
    return _signed(arith.select(is_left, _from(math.pi, angle), angle), y)


def _of_angle(name: str, x: Any) -> Any:
    size = build.same("math.absf", x)
    quarters, rest = _reduced(size)
    square = build.same("arith.mulf", rest, rest)
    sine = build.same("arith.mulf", rest, trigonometry.polynomial(square, _SINE))
    cosine = trigonometry.polynomial(square, _COSINE)
    return trigonometry.turned(name, x, size, quarters, sine, cosine)


def _reduced(size: Any) -> tuple[Any, Any]:
    """Returns how many quarter turns are nearest to an angle, of which the last two bits count, and the rest of it."""
    bits = _bits(size)
    exponent = _with("shrui", bits, 52)
    mantissa = _with("ori", _with("andi", bits, (1 << 52) - 1), 1 << 52)
    high, low = _with("shrui", mantissa, _LOW), _with("andi", mantissa, (1 << _LOW) - 1)
    # The higher integer of the least angle begins with the bits before the point.
    place = _with("addi", _with("subi", exponent, _LEAST), 32 * (_ZEROS - 1))
    turn = build.same("arith.addi", _turn(high, place), _turn(low, _with("subi", place, _LOW)))
    quarters = _with("shrui", _with("addi", turn, 1 << 61), 62)
    turn = build.same("arith.subi", turn, _with("shli", quarters, 62))
    angle = build.op("arith.sitofp", size.type, turn)
    angle = build.same("arith.mulf", angle, build.number(math.tau * 2.0**-64, size.type))
    is_small = arith.compared(arith.I_ULT, exponent, build.number(_LEAST, exponent.type))
    none = build.number(0, quarters.type)
    return arith.select(is_small, none, quarters), arith.select(is_small, size, angle)


def _turn(whole: Any, place: Any) -> Any:
    """Returns the fraction of a turn, in units of 2 ** -64, of an integer of 27 bits by the bits from `place` on."""
    group, shift = _with("shrui", place, 5), _with("andi", place, 31)
    words = trigonometry.digits(_WORDS, _ZEROS)
    found = []
    for index in range(3):
        pairs = [
            first << 32 | second
            for first, second in zip(words[index:], words[index + 1 :], strict=False)
        ]
        pair = build.number(pairs[0], place.type)
        for number in range(1, _WORDS - 3):
            is_here = arith.equal(group, number)
            pair = arith.select(is_here, build.number(pairs[number], place.type), pair)
        digit = _with("shrui", build.same("arith.shli", pair, shift), 32)
        found.append(build.same("arith.muli", whole, digit))
    turn = build.same("arith.addi", _with("shli", found[0], 32), found[1])
    return build.same("arith.addi", turn, _with("shrui", found[2], 32))


def _plus(value: Any, number: float) -> Any:
    return build.same("arith.addf", value, build.number(number, value.type))


def _from(number: float, value: Any) -> Any:
    return build.same("arith.subf", build.number(number, value.type), value)


def _with(name: str, value: Any, number: int) -> Any:
    return build.same(f"arith.{name}", value, build.number(number, value.type))


def _signed(size: Any, value: Any) -> Any:
    sign = _with("andi", _bits(value), -(1 << 63))
    return _float(build.same("arith.ori", _bits(size), sign), value)


def _bits_type(value: Any) -> Any:
    return arith.like(value, ir.IntegerType.get_signless(64))


def _bits(value: Any) -> Any:
    return build.op("arith.bitcast", _bits_type(value), value)


def _float(bits: Any, like: Any) -> Any:
    return build.op("arith.bitcast", like.type, bits)
