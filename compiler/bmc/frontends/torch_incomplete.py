"""Incomplete gamma functions and Hurwitz' zeta function of PyTorch, because torch-mlir has nothing for them.

They are series and a continued fraction (Abramowitz and Stegun 6.5.29, 6.5.31; 23.1.30 for sums from a number on), of
as many steps as the numbers take.
"""

from __future__ import annotations

import math
from typing import Any

from bmc.frontends import torch_gamma, torch_steps

# Of Euler's and Maclaurin's sum: it begins behind this number, and has B(2n) / (2n)! of its terms.
_EULER = 9
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
# Steps of what converges more slowly than PyTorch's own code allows.
_MOST_STEPS = 2000


def igamma(a: Any, x: Any) -> Any:
    """Returns the share of a gamma function's integral below `x`; both are f32 or f64."""
    return _shares(a, x)[0]


def igammac(a: Any, x: Any) -> Any:
    """Returns the share of a gamma function's integral above `x`; both are f32 or f64."""
    return _shares(a, x)[1]


def _shares(a: Any, x: Any) -> tuple[Any, Any]:
    import torch

    a, x = torch.broadcast_tensors(a, x)
    is_known = (a > 0) & (x > 0) & a.isfinite() & x.isfinite()
    safe_a, safe_x = torch.where(is_known, a, 1.0), torch.where(is_known, x, 1.0)
    is_low = (safe_x < 1.1) | (safe_x < safe_a)
    scale = (safe_a * safe_x.log() - safe_x - torch_gamma.log_gamma(safe_a)).exp()
    below = scale * _series(safe_a, torch.where(is_low, safe_x, 1.0)) / safe_a
    above = scale * _fraction(safe_a, torch.where(is_low, safe_a + 2, safe_x))
    low, high = torch.where(is_low, below, 1 - above), torch.where(is_low, 1 - below, above)
    # All of the integral is below an infinite number, and none of that of an infinite power.
    is_none, is_all = (x == 0) & (a > 0) | a.isinf(), (a == 0) & (x > 0) | x.isinf()
    is_wrong = (a < 0) | (x < 0) | a.isnan() | x.isnan() | (is_none & is_all) | (a == 0) & (x == 0)
    low, high = torch.where(is_none, 0.0, low), torch.where(is_none, 1.0, high)
    low, high = torch.where(is_all, 1.0, low), torch.where(is_all, 0.0, high)
    return torch.where(is_wrong, math.nan, low), torch.where(is_wrong, math.nan, high)


def _series(a: Any, x: Any) -> Any:
    import torch

    eps = torch.finfo(x.dtype).eps

    def goes_on(_k: Any, _a: Any, _x: Any, term: Any, total: Any) -> Any:
        return (term > eps * total).any()

    def step(k: Any, a: Any, x: Any, term: Any, total: Any) -> tuple[Any, ...]:
        term = torch.where(k < _MOST_STEPS, term * x / (a + k), 0.0)
        return k + 1, a, x, term, total + term

    first = x / (a + 1)
    state = (torch.full((), 2, dtype=x.dtype), a, x, first, 1 + first)
    return torch_steps.repeat(goes_on, step, state)[-1]


def _fraction(a: Any, x: Any) -> Any:
    """Returns a continued fraction by Lentz' algorithm."""
    import torch

    eps, tiny = torch.finfo(x.dtype).eps, torch.finfo(x.dtype).smallest_normal * 1e4

    def goes_on(_k: Any, _a: Any, _x: Any, _c: Any, _d: Any, change: Any, _found: Any) -> Any:
        return ((change - 1).abs() > eps).any()

    def step(k: Any, a: Any, x: Any, c: Any, d: Any, _: Any, found: Any) -> tuple[Any, ...]:
        numerator, more = k * (a - k), x + 1 - a + (k + k)
        d, c = numerator * d + more, more + numerator / c
        d, c = torch.where(d.abs() < tiny, tiny, d), torch.where(c.abs() < tiny, tiny, c)
        d = 1 / d
        change = torch.where(k < _MOST_STEPS, c * d, 1.0)
        return k + 1, a, x, c, d, change, found * change

    first = 1 / (x + 1 - a)
    large = torch.full_like(x, 1 / tiny)
    state = (torch.ones((), dtype=x.dtype), a, x, large, first, 1 + x, first)
    return torch_steps.repeat(goes_on, step, state)[-1]


def zeta(x: Any, q: Any) -> Any:
    """Returns the sum of powers of `q`, `q` + 1, ... by -`x`; both are f32 or f64."""
    import torch

    x, q = torch.broadcast_tensors(x, q)
    # Where the sum is no number or infinite, the loop must end.
    is_sum = (x > 1) & ((q > 0) | (q != q.floor()) & (x == x.floor()))
    safe_x, base = torch.where(is_sum, x, 2.0), torch.where(is_sum, q, 1.0)

    def goes_on(_x: Any, base: Any, _total: Any) -> Any:
        return (base <= _EULER).any()

    def step(x: Any, base: Any, total: Any) -> tuple[Any, ...]:
        is_small = base <= _EULER
        total = torch.where(is_small, total + base**-x, total)
        return x, torch.where(is_small, base + 1, base), total

    _, base, total = torch_steps.repeat(goes_on, step, (safe_x, base, torch.zeros_like(base)))
    power = base**-safe_x
    total = total + power * base / (safe_x - 1) + 0.5 * power
    factor, power = safe_x, power / base
    for n, number in enumerate(_BERNOULLI, 1):
        total = total + factor * power * (number / math.factorial(2 * n))
        factor = factor * (safe_x + (2 * n - 1)) * (safe_x + 2 * n)
        power = power / (base * base)
    total = torch.where(is_sum, total, math.nan)
    is_infinite = (x == 1) | (x > 1) & (q <= 0) & (q == q.floor())
    return torch.where(is_infinite, math.inf, total)
