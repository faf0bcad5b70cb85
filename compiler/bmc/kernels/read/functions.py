"""Approximates erf, exp and tanh with operations that kernels have."""

from __future__ import annotations

import math
from collections.abc import Callable

from bmc.kernels.read.nodes import Nodes

# erf(x) and tanh(x) are approximated as x * P(x^2) / Q(x^2) up to an x where they are 1 in f32. The coefficients of P
# and Q begin with the highest power. They are weighted least-squares fits in f64 at 4,000 Chebyshev points; the weights
# minimize the largest error.
_ERF_END = 3.92
_ERF_P = (
    2.034889803326223e-06,
    0.0002874636556953192,
    0.0038675616960972548,
    0.05305812135338783,
    0.19274593889713287,
    1.128378987312317,
)
_ERF_Q = (
    3.807143366429955e-05,
    0.0011879324447363615,
    0.015170760452747345,
    0.11507716029882431,
    0.5041483044624329,
    1.0,
)
_TANH_END = 9.02
_TANH_P = (
    1.3319051938228245e-08,
    2.058346550376461e-05,
    0.0034940335502283977,
    0.13379717079828915,
    0.9999999790258842,
)
_TANH_Q = (
    7.762010860884162e-07,
    0.00032830912227629834,
    0.025871069319099566,
    0.4671303232257275,
    1.0,
)
# exp(r / 2) for |r| below log 2, fitted in the same way.
_EXP = (
    0.0002590455801793014,
    0.0026189098327562,
    0.020834594245572876,
    0.12499778815221467,
    0.49999984462344726,
    1.0,
)
# exp(x) is 0 below the first value, and infinite above the second one.
_EXP_ENDS = (-104.5, 89.0)
# 2 log 2 as a sum of two parts. Products of the first part with integers below 256 are exact.
_LOG_HIGH = 1.38623046875
_LOG_LOW = 2 * math.log(2) - _LOG_HIGH
# Adding this to a small float leaves its nearest integer in the low bits of the sum.
_LARGE = 12582912.0


def erf(x: int, to: Nodes) -> int:
    """Adds the nodes of the error function; returns the last one. Absolute and relative errors are below 5e-7.

    Beyond _ERF_END it is exactly 1, because GELU multiplies the error with x.

    Args:
      x: number of the argument's node.
      to: receives the nodes.
    """
    return _quotient(x, _ERF_END, _ERF_P, _ERF_Q, to)


def tanh(x: int, to: Nodes) -> int:
    """Adds the nodes of tanh; returns the last one. Absolute and relative errors are below 5e-7."""
    return _quotient(x, _TANH_END, _TANH_P, _TANH_Q, to)


def exp(x: int, to: Nodes) -> int:
    """Adds the nodes of exp; returns the last one. The error relative to it or the smallest normal is below 5e-7.

    The result is the square of exp(x / 2) = 2^n * exp(r / 2), both of whose factors are normal for every x.
    """
    least, most = map(to.number, _EXP_ENDS)
    limited = to.float_("minimumf", to.float_("maximumf", x, least), most)
    scaled = to.float_("mulf", limited, to.number(0.5 / math.log(2)))
    shifted = to.float_("addf", scaled, to.number(_LARGE))
    n = to.float_("subf", shifted, to.number(_LARGE))
    rest = to.float_("fma", n, to.number(-_LOG_HIGH), limited)
    rest = to.float_("fma", n, to.number(-_LOG_LOW), rest)
    # The shift removes the bits that _LARGE added.
    bits = to.integer("shli", to.integer("bitcast", shifted), to.constant(23))
    power = to.float_("bitcast", to.integer("addi", bits, to.constant(127 << 23)))
    root = to.float_("mulf", _polynomial(rest, _EXP, to), power)
    return to.float_("mulf", root, root)


def reciprocal(x: int, to: Nodes) -> int:
    """Adds the nodes of 1 / x; returns the last one. The relative error is below 2^-22; x and 1 / x must be normal.

    A division would take many times the cycles.
    """
    result = to.float_("recf7", x)
    for _ in range(2):
        # Newton's method: each step doubles the number of correct bits.
        rest = to.float_("subf", to.number(2.0), to.float_("mulf", result, x))
        result = to.float_("mulf", result, rest)
    return result


def _quotient(x: int, end: float, p: tuple[float, ...], q: tuple[float, ...], to: Nodes) -> int:
    """Adds x * P(x^2) / Q(x^2), clamped to [-1, 1]; returns the last node.

    P and Q share the powers of x^2, so each power takes one fma in each. All coefficients are positive, so nothing
    cancels. The minimum drops a NaN, which the product with x restores.
    """
    square = to.float_("minnumf", to.float_("mulf", x, x), to.number(end**2))
    power = square
    sums = [
        to.float_("addf", to.float_("mulf", square, to.number(one)), to.number(none))
        for *_, one, none in (p, q)
    ]
    for factors in zip(p[-3::-1], q[-3::-1], strict=True):
        power = to.float_("mulf", power, square)
        sums = [
            to.float_("fma", power, to.number(factor), total)
            for factor, total in zip(factors, sums, strict=True)
        ]
    # Beyond `end` the quotient grows with x.
    quotient = to.float_("mulf", to.float_("mulf", x, sums[0]), reciprocal(sums[1], to))
    return to.float_("maximumf", to.float_("minimumf", quotient, to.number(1.0)), to.number(-1.0))


def _polynomial(x: int, factors: tuple[float, ...], to: Nodes) -> int:
    """Adds a polynomial of x, whose coefficients begin with the highest power; returns the last node."""
    first, second, *others = factors
    result = to.float_("addf", to.float_("mulf", x, to.number(first)), to.number(second))
    for factor in others:
        result = to.float_("addf", to.float_("mulf", result, x), to.number(factor))
    return result


# The functions by the name of MLIR's operation.
OF_FLOATS: dict[str, Callable[[int, Nodes], int]] = {
    "math.erf": erf,
    "math.exp": exp,
    "math.tanh": tanh,
}
