"""Computes PyTorch's special functions with elementary ones, because torch-mlir has nothing for them.

Each is a decomposition in PyTorch itself. Bessel functions, quantiles and the scaled error function are Chebyshev
series of a few pieces, fitted to PyTorch's own functions of f64 when they are needed; the pieces and their variables
follow Cephes (S. L. Moshier), which PyTorch itself uses. torch_gamma.py has the gamma function's relatives.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from bmc.frontends import torch_gamma, torch_incomplete, torch_polynomials
from bmc.frontends.torch_series import Series

# Bessel functions are series of x up to here, and waves from here on; the modified ones of the second kind.
_BESSEL, _MODIFIED_FIRST, _MODIFIED_SECOND = 5.0, 8.0, 2.0
# A quantile is a series of its distance from the median up to here, and of the root of its probability's logarithm.
_CENTER, _TAIL, _FAR_TAIL = 0.425, 5.0, 26.6


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op. They compute in f32 for half floats and integers, as PyTorch does."""
    import torch
    from torch._decomp.decompositions import pw_cast_for_int_to_real

    aten = torch.ops.aten
    functions: dict[Any, Callable[..., Any]] = {
        aten.digamma.default: torch_gamma.digamma,
        aten.lgamma.default: torch_gamma.log_gamma,
        aten.polygamma.default: torch_gamma.polygamma,
        aten.igamma.default: torch_incomplete.igamma,
        aten.igammac.default: torch_incomplete.igammac,
        aten.special_zeta.default: torch_incomplete.zeta,
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
        **torch_polynomials.table(),
    }
    return {op: pw_cast_for_int_to_real(function) for op, function in functions.items()}


@functools.cache
def _exponential_bessel(order: int) -> tuple[Series, Series]:
    """Returns exp(-x) * I(x), by x for order 1, and the same times the root of x."""
    import torch

    function = (torch.special.i0e, torch.special.i1e)[order]
    end = _MODIFIED_FIRST
    near = Series((lambda x: function(x) / x) if order else function, 0, end)
    return near, Series(lambda t: function(end / t) * torch.sqrt(end / t), 0, 1)


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
def _second_kind(order: int) -> tuple[Series, Series]:
    """Returns what K(x) has beside a multiple of I(x) * log(x / 2), of x * x, and exp(x) * K(x) times the root of x."""
    import torch

    s, end = torch.special, _MODIFIED_SECOND
    if order:
        near = Series(
            lambda z: (s.modified_bessel_k1(z.sqrt()) - (z.sqrt() / 2).log() * s.i1(z.sqrt())) * z.sqrt(),
            0, end * end,
        )  # fmt: skip
    else:
        near = Series(
            lambda z: s.modified_bessel_k0(z.sqrt()) + (z.sqrt() / 2).log() * s.i0(z.sqrt()), 0, end * end
        )  # fmt: skip
    scaled = (s.scaled_modified_bessel_k0, s.scaled_modified_bessel_k1)[order]
    return near, Series(lambda t: scaled(end / t) * torch.sqrt(end / t), 0, 1)


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
def _waves(order: int) -> tuple[Series, Series, Series, Series]:
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
        Series(first, 0, end * end),
        Series(second, 0, end * end),
        Series(lambda t: amplitude(t, 1), 0, 1),
        Series(lambda t: amplitude(t, -1), 0, 1),
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
def _scaled_error() -> Series:
    """Returns (1 + 2x) * exp(x * x) * erfc(x), of 4 / (4 + x)."""
    import torch

    return Series(lambda t: torch.special.erfcx(4 / t - 4) * (8 / t - 7), 0, 1)


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
def _quantiles() -> tuple[Series, Series, Series]:
    """Returns a quantile by its distance, of the square of that, and by the root of its logarithm, near and far."""
    import torch

    ndtri = torch.special.ndtri
    return (
        Series(lambda z: ndtri(0.5 + z.sqrt()) / z.sqrt(), 0, _CENTER * _CENTER),
        Series(lambda r: ndtri((-r * r).exp()) / r, math.sqrt(-math.log(0.5 - _CENTER)), _TAIL),
        Series(lambda u: ndtri((-1 / u / u).exp()) * u, 1 / _FAR_TAIL, 1 / _TAIL),
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
