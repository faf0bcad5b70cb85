"""Functions as operations that kernels have."""

from __future__ import annotations

from collections.abc import Callable

# erf(x) is about x * P(x^2) / Q(x^2) up to this x, where it is about 1. P and Q begin with the highest power. They are
# a fit of erf in f64 by weighted least squares at 4,000 Chebyshev points, with the weights of a smallest maximum.
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


def erf(x: int, number: Callable[[float], int], float_: Callable[..., int]) -> int:
    """Adds the nodes of the error function; returns the last one. Its error is below 5e-7, also relative to it.

    Behind _ERF_END it is exactly 1, because GELU multiplies what is missing with x.

    Args:
      x: a node.
      number: adds a constant.
      float_: adds an operation on floats, by its name and the nodes it reads.
    """
    square = float_("minimumf", float_("mulf", x, x), number(_ERF_END**2))

    def polynomial(factors: tuple[float, ...]) -> int:
        first, second, *others = factors
        result = float_("addf", float_("mulf", square, number(first)), number(second))
        for factor in others:
            result = float_("addf", float_("mulf", result, square), number(factor))
        return result

    above = float_("mulf", x, polynomial(_ERF_P))
    # It grows with x behind the end.
    quotient = float_("mulf", above, reciprocal(polynomial(_ERF_Q), number, float_))
    return float_("maximumf", float_("minimumf", quotient, number(1.0)), number(-1.0))


def reciprocal(x: int, number: Callable[[float], int], float_: Callable[..., int]) -> int:
    """Adds the nodes of 1 / x; returns the last one. Its error is below 2^-22, relative to it.

    A division takes many times the cycles. x and 1 / x must be normal.
    """
    result = float_("recf7", x)
    for _ in range(2):
        # Newton's method: each step doubles the number of right bits.
        rest = float_("subf", number(2.0), float_("mulf", result, x))
        result = float_("mulf", result, rest)
    return result
