"""Computes PyTorch's special functions with elementary ones, because torch-mlir has nothing for them.

Each is a decomposition in PyTorch itself. Bessel functions, quantiles and the scaled error function are Chebyshev
series of a few pieces, fitted to PyTorch's own functions of f64 when they are needed; the pieces and their variables
follow Cephes (S. L. Moshier), which PyTorch itself uses. The gamma function's relatives are Stirling's series after a
few steps of their recurrences (Abramowitz and Stegun 6.1.40, 6.3.18, 6.4.11), reflected for numbers below 1/2 (6.3.7,
6.4.7).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, polynomial

# A series stops before terms this small against its largest one. Its degree is the most that is tried.
_NEGLIGIBLE = 1e-14
_DEGREE = 40
# Bessel functions are series of x up to here, and waves from here on; the modified ones of the second kind.
_BESSEL, _MODIFIED_FIRST, _MODIFIED_SECOND = 5.0, 8.0, 2.0
# Stirling's series begins here: B(2n) / (2n) for the digamma function, and B(2n) for its derivatives.
_STIRLING = 10
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
# A quantile is a series of its distance from the median up to here, and of the root of its probability's logarithm.
_CENTER, _TAIL, _FAR_TAIL = 0.425, 5.0, 26.6


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op. They compute in f32 for half floats and integers, as PyTorch does."""
    import torch
    from torch._decomp.decompositions import pw_cast_for_int_to_real

    aten = torch.ops.aten
    functions: dict[Any, Callable[..., Any]] = {
        aten.digamma.default: _digamma,
        aten.lgamma.default: _log_gamma,
        aten.polygamma.default: _polygamma,
        aten.erfc.default: _erfc,
        aten.erfinv.default: _erfinv,
        aten.special_erfcx.default: _erfcx,
        aten.special_ndtri.default: _ndtri,
        aten.i0.default: functools.partial(_grown, _i0e),
        aten.special_i0e.default: _i0e,
        aten.special_i1.default: functools.partial(_grown, _i1e),
        aten.special_i1e.default: _i1e,
        aten.special_modified_bessel_i0.default: functools.partial(_grown, _i0e),
        aten.special_modified_bessel_i1.default: functools.partial(_grown, _i1e),
        aten.special_modified_bessel_k0.default: functools.partial(_k, 0, False),
        aten.special_modified_bessel_k1.default: functools.partial(_k, 1, False),
        aten.special_scaled_modified_bessel_k0.default: functools.partial(_k, 0, True),
        aten.special_scaled_modified_bessel_k1.default: functools.partial(_k, 1, True),
        aten.special_bessel_j0.default: functools.partial(_j, 0),
        aten.special_bessel_j1.default: functools.partial(_j, 1),
        aten.special_bessel_y0.default: functools.partial(_y, 0),
        aten.special_bessel_y1.default: functools.partial(_y, 1),
        aten.special_spherical_bessel_j0.default: _spherical,
    }
    return {op: pw_cast_for_int_to_real(function) for op, function in functions.items()}


class _Series:
    """A Chebyshev series of a function between two numbers.

    Attributes:
      coefficients: of T(0), T(1), ...
      low, high: ends of the interval.
    """

    def __init__(self, function: Callable[[Any], Any], low: float, high: float) -> None:
        import torch
        from torch.utils._python_dispatch import _disable_current_modes

        def values(u: Any) -> Any:
            x = (np.asarray(u) + 1) / 2 * (high - low) + low
            return function(torch.tensor(x, dtype=torch.float64)).numpy()

        with _disable_current_modes():
            found = chebyshev.chebinterpolate(values, _DEGREE)
        kept = np.flatnonzero(np.abs(found) > _NEGLIGIBLE * np.abs(found).max())
        self.coefficients = [float(each) for each in found[: kept[-1] + 1]]
        self.low, self.high = low, high

    def __call__(self, x: Any) -> Any:
        """Returns the sum by Clenshaw's recurrence; `x` is moved into the interval."""
        import torch

        x = x.clamp(self.low, self.high)
        twice = (x - self.low) * (4 / (self.high - self.low)) - 2
        after = before = torch.zeros_like(x)
        for coefficient in reversed(self.coefficients[1:]):
            after, before = twice * after - before + coefficient, after
        return twice * after * 0.5 - before + self.coefficients[0]


@functools.cache
def _exponential_bessel(order: int) -> tuple[_Series, _Series]:
    """Returns exp(-x) * I(x), by x for order 1, and the same times the root of x."""
    import torch

    function = (torch.special.i0e, torch.special.i1e)[order]
    end = _MODIFIED_FIRST
    near = _Series((lambda x: function(x) / x) if order else function, 0, end)
    return near, _Series(lambda t: function(end / t) * torch.sqrt(end / t), 0, 1)


def _i0e(x: Any) -> Any:
    import torch

    near, far = _exponential_bessel(0)
    size = x.abs()
    beyond = far(_MODIFIED_FIRST / size) * torch.rsqrt(size)
    return torch.where(size <= _MODIFIED_FIRST, near(size), beyond)


def _i1e(x: Any) -> Any:
    import torch

    near, far = _exponential_bessel(1)
    size = x.abs()
    beyond = far(_MODIFIED_FIRST / size) * torch.rsqrt(size) * torch.sign(x)
    return torch.where(size <= _MODIFIED_FIRST, near(size) * x, beyond)


def _grown(scaled: Callable[[Any], Any], x: Any) -> Any:
    return x.abs().exp() * scaled(x)


@functools.cache
def _second_kind(order: int) -> tuple[_Series, _Series]:
    """Returns what K(x) has beside a multiple of I(x) * log(x / 2), of x * x, and exp(x) * K(x) times the root of x."""
    import torch

    s, end = torch.special, _MODIFIED_SECOND
    if order:
        near = _Series(
            lambda z: (s.modified_bessel_k1(z.sqrt()) - (z.sqrt() / 2).log() * s.i1(z.sqrt())) * z.sqrt(),
            0, end * end,
        )  # fmt: skip
    else:
        near = _Series(
            lambda z: s.modified_bessel_k0(z.sqrt()) + (z.sqrt() / 2).log() * s.i0(z.sqrt()), 0, end * end
        )  # fmt: skip
    scaled = (s.scaled_modified_bessel_k0, s.scaled_modified_bessel_k1)[order]
    return near, _Series(lambda t: scaled(end / t) * torch.sqrt(end / t), 0, 1)


def _k(order: int, is_scaled: bool, x: Any) -> Any:
    import torch

    near, far = _second_kind(order)
    small = x.clamp(max=_MODIFIED_SECOND)
    if order:
        close = (small / 2).log() * _grown(_i1e, small) + near(small * small) / small
    else:
        close = near(small * small) - (small / 2).log() * _grown(_i0e, small)
    beyond = far(_MODIFIED_SECOND / x) * torch.rsqrt(x)
    if is_scaled:
        close = close * small.exp()
    else:
        beyond = beyond * (-x).exp()
    found = torch.where(x <= _MODIFIED_SECOND, close, beyond)
    found = torch.where(x == 0, math.inf, found)
    return torch.where(x < 0, math.nan, found)


@functools.cache
def _waves(order: int) -> tuple[_Series, _Series, _Series, _Series]:
    """Returns J(x) and what Y(x) has beside a logarithm, of x * x; amplitudes of the waves of both, of 25 / (x * x)."""
    import torch

    s, end = torch.special, _BESSEL
    j, y = ((s.bessel_j0, s.bessel_y0), (s.bessel_j1, s.bessel_y1))[order]
    shift = (2 * order + 1) * math.pi / 4

    def first(z: Any) -> Any:
        return j(z.sqrt()) / z.sqrt() if order else j(z.sqrt())

    def second(z: Any) -> Any:
        x = z.sqrt()
        if order:
            return (y(x) - 2 / math.pi * (j(x) * x.log() - 1 / x)) / x
        return y(x) - 2 / math.pi * j(x) * x.log()

    def amplitude(t: Any, sign: int) -> Any:
        x = end / t.sqrt()
        c, d = torch.cos(x - shift), torch.sin(x - shift)
        root = torch.sqrt(x * math.pi / 2)
        return (j(x) * c + y(x) * d) * root if sign > 0 else (y(x) * c - j(x) * d) * root * x

    return (
        _Series(first, 0, end * end),
        _Series(second, 0, end * end),
        _Series(lambda t: amplitude(t, 1), 0, 1),
        _Series(lambda t: amplitude(t, -1), 0, 1),
    )


def _amplitudes(order: int, x: Any) -> tuple[Any, Any, Any]:
    """Returns both amplitudes of waves with the angle, which comes last."""
    import torch

    *_, even, odd = _waves(order)
    inverse = _BESSEL / x
    root = torch.rsqrt(x * (math.pi / 2))
    square = inverse * inverse
    return even(square) * root, odd(square) / x * root, x - (2 * order + 1) * math.pi / 4


def _j(order: int, x: Any) -> Any:
    import torch

    size = x.abs()
    near = _waves(order)[0](size * size)
    even, odd, angle = _amplitudes(order, size)
    beyond = even * angle.cos() - odd * angle.sin()
    if order:
        near, beyond = near * x, torch.where(x < 0, -beyond, beyond)
    return torch.where(size <= _BESSEL, near, beyond)


def _y(order: int, x: Any) -> Any:
    import torch

    small = x.clamp(max=_BESSEL)
    near = _waves(order)[1](small * small)
    logarithm = _j(order, small) * small.log()
    if order:
        near, logarithm = near * small, logarithm - 1 / small
    near = near + logarithm * (2 / math.pi)
    even, odd, angle = _amplitudes(order, x)
    beyond = even * angle.sin() + odd * angle.cos()
    found = torch.where(x <= _BESSEL, near, beyond)
    found = torch.where(x == 0, -math.inf, found)
    return torch.where(x < 0, math.nan, found)


def _spherical(x: Any) -> Any:
    import torch

    found = torch.where(x == 0, 1.0, x.sin() / x)
    return torch.where(x.isinf(), 0.0, found)


@functools.cache
def _scaled_error() -> _Series:
    """Returns (1 + 2x) * exp(x * x) * erfc(x), of 4 / (4 + x)."""
    import torch

    return _Series(lambda t: torch.special.erfcx(4 / t - 4) * (8 / t - 7), 0, 1)


def _erfcx(x: Any) -> Any:
    import torch

    size = x.abs()
    found = _scaled_error()(4 / (4 + size)) / (1 + 2 * size)
    return torch.where(x < 0, 2 * (x * x).exp() - found, found)


def _erfc(x: Any) -> Any:
    import torch

    size = x.abs()
    found = _scaled_error()(4 / (4 + size)) / (1 + 2 * size) * (-x * x).exp()
    return torch.where(x < 0, 2 - found, found)


@functools.cache
def _quantiles() -> tuple[_Series, _Series, _Series]:
    """Returns a quantile by its distance, of the square of that, and by the root of its logarithm, near and far."""
    import torch

    ndtri = torch.special.ndtri
    return (
        _Series(lambda z: ndtri(0.5 + z.sqrt()) / z.sqrt(), 0, _CENTER * _CENTER),
        _Series(lambda r: ndtri((-r * r).exp()) / r, math.sqrt(-math.log(0.5 - _CENTER)), _TAIL),
        _Series(lambda u: ndtri((-1 / u / u).exp()) * u, 1 / _FAR_TAIL, 1 / _TAIL),
    )


def _quantile(distance: Any, probability: Any) -> Any:
    """Returns the number that a normal variable is below with a probability.

    Args:
      distance: of the probability from 1/2.
      probability: the smaller one of it and its complement.
    """
    import torch

    center, tail, far = _quantiles()
    root = (-probability.log()).sqrt()
    outer = torch.where(root <= _TAIL, tail(root) * root, far(1 / root) * root)
    outer = torch.where(distance < 0, outer, -outer)
    found = torch.where(distance.abs() <= _CENTER, center(distance * distance) * distance, outer)
    found = torch.where(probability == 0, torch.sign(distance) * math.inf, found)
    return torch.where(probability < 0, math.nan, found)


def _ndtri(p: Any) -> Any:
    import torch

    return _quantile(p - 0.5, torch.minimum(p, 1 - p))


def _erfinv(x: Any) -> Any:
    return _quantile(x / 2, (1 - x.abs()) / 2) * math.sqrt(0.5)


def _digamma(x: Any) -> Any:
    import torch

    is_low = x < 0.5
    found = torch.where(is_low, 1 - x, x)
    total = torch.zeros_like(found)
    for _ in range(_STIRLING):
        is_small = found < _STIRLING
        total = torch.where(is_small, total - 1 / found, total)
        found = torch.where(is_small, found + 1, found)
    square = 1 / (found * found)
    terms = [number / (2 * n) for n, number in enumerate(_BERNOULLI, 1)]
    total = total + found.log() - 0.5 / found - square * _polynomial(terms, square)
    found = torch.where(is_low, total - math.pi * _cotangent(x), total)
    found = torch.where((x < 0) & (x == x.floor()), math.nan, found)
    return torch.where(x == 0, torch.copysign(torch.full_like(x, math.inf), -x), found)


@functools.cache
def _log_gamma_series() -> _Series:
    import torch

    return _Series(lambda x: torch.lgamma(x) / ((x - 1) * (x - 2)), 2, 3)


def _log_gamma(x: Any) -> Any:
    """Goes to the interval from 2 to 3 in steps, so that the zeros at 1 and 2 are exact."""
    import torch

    is_low = x < 0.5
    number = torch.where(is_low, 1 - x, x)
    product, near = torch.ones_like(number), number
    for _ in range(2):
        is_small = near < 2
        product = torch.where(is_small, product / near, product)
        near = torch.where(is_small, near + 1, near)
    for _ in range(_STIRLING - 3):
        is_large = near >= 3
        product = torch.where(is_large, product * (near - 1), product)
        near = torch.where(is_large, near - 1, near)
    close = product.log() + (near - 1) * (near - 2) * _log_gamma_series()(near)
    inverse = 1 / number
    terms = [each / (2 * n * (2 * n - 1)) for n, each in enumerate(_BERNOULLI, 1)]
    beyond = (number - 0.5) * (number.log() - 1) - 0.5 + math.log(2 * math.pi) / 2
    beyond = beyond + inverse * _polynomial(terms, inverse * inverse)
    found = torch.where(number < _STIRLING, close, beyond)
    turn = math.pi * (x - x.round())
    mirrored = math.log(math.pi) - turn.sin().abs().log() - found
    found = torch.where(is_low, mirrored, found)
    found = torch.where((x <= 0) & (x == x.floor()), math.inf, found)
    return torch.where(x.isinf(), math.inf, found)


def _polygamma(order: int, x: Any) -> Any:
    import torch

    if order == 0:
        return _digamma(x)
    is_low = x < 0.5
    number = torch.where(is_low, 1 - x, x)
    total = torch.zeros_like(number)
    for _ in range(_STIRLING):
        is_small = number < _STIRLING
        total = torch.where(is_small, total + number ** -(order + 1), total)
        number = torch.where(is_small, number + 1, number)
    # Each term by n!, which may be larger than any float.
    inverse = 1 / number
    terms = [
        each * math.comb(2 * n + order - 1, order) / (2 * n) for n, each in enumerate(_BERNOULLI, 1)
    ]
    series = 1 / order + inverse / 2 + inverse * inverse * _polynomial(terms, inverse * inverse)
    total = (total + series * number**-order) * math.factorial(order)
    # The derivative of pi * cot(pi * x) is a polynomial of the cotangent.
    powers = np.array([0, math.pi])
    for _ in range(order):
        powers = polynomial.polymul(polynomial.polyder(powers), [-math.pi, 0, -math.pi])
    mirrored = -_polynomial([float(each) for each in powers], _cotangent(x))
    sign = 1.0 if order % 2 else -1.0
    found = torch.where(is_low, mirrored - total, sign * total)
    return torch.where((x <= 0) & (x == x.floor()), sign * math.inf, found)


def _cotangent(x: Any) -> Any:
    """Returns the cotangent of pi * x, exact where it is zero."""
    import torch

    turn = x - x.round()
    size = turn.abs()
    found = torch.where(size < 0.25, 1 / (math.pi * size).tan(), (math.pi * (0.5 - size)).tan())
    return torch.where(turn < 0, -found, found)


def _polynomial(coefficients: list[float], x: Any) -> Any:
    """Returns a sum of powers; the first coefficient belongs to none."""
    import torch

    found = torch.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        found = found * x + coefficient
    return found
