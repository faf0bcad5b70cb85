"""Orthogonal polynomials of PyTorch by their recurrences, because torch-mlir has nothing for them.

The degrees are elements of a tensor, so the steps are those of a loop, up to the largest degree.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from bmc.frontends import torch_steps

# PyTorch returns no number for Hermite polynomials of higher degrees.
_HERMITE = {4: 128, 8: 512}

# The next polynomial of a degree `k` from the last ones, `q` and `p`.
_Step = Callable[[Any, Any, Any, Any], Any]


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op, which compute in the type of their operands."""
    import torch

    aten = torch.ops.aten
    found: dict[Any, Callable[..., Any]] = {
        aten.special_hermite_polynomial_h.default: _hermite_h,
        aten.special_hermite_polynomial_he.default: _hermite_he,
        aten.special_laguerre_polynomial_l.default: _laguerre,
        aten.special_legendre_polynomial_p.default: _legendre,
    }
    firsts: dict[str, Callable[[Any], Any]] = {
        "t": lambda x: x,
        "u": lambda x: x + x,
        "v": lambda x: x + x - 1,
        "w": lambda x: x + x + 1,
    }
    for kind, first in firsts.items():
        plain = getattr(aten, f"special_chebyshev_polynomial_{kind}")
        shifted = getattr(aten, f"special_shifted_chebyshev_polynomial_{kind}")
        found[plain.default] = functools.partial(_chebyshev, first)
        found[shifted.default] = functools.partial(_shifted_chebyshev, first)
    return found


def _polynomial(first: Any, step: _Step, x: Any, n: Any) -> Any:
    """Returns polynomials of degrees `n`; that of degree 0 is 1, and the next one is `first`."""
    import torch

    x, first, n = torch.broadcast_tensors(x, first, n.to(torch.int64))

    def goes_on(k: Any, last: Any, *_: Any) -> Any:
        return k < last

    def following(k: Any, last: Any, x: Any, n: Any, p: Any, q: Any) -> tuple[Any, ...]:
        more = step(k.to(x.dtype), x, p, q)
        is_more = k < n
        return k + 1, last, x, n, torch.where(is_more, q, p), torch.where(is_more, more, q)

    k = torch.ones((), dtype=torch.int64)
    state = (k, n.amax(), x, n, torch.ones_like(x), first)
    *_, found = torch_steps.repeat(goes_on, following, state)
    found = torch.where(n == 0, 1.0, found)
    return torch.where(n < 0, 0.0, found)


def _chebyshev(first: Callable[[Any], Any], x: Any, n: Any) -> Any:
    return _polynomial(first(x), lambda _, x, p, q: (x + x) * q - p, x, n)


def _shifted_chebyshev(first: Callable[[Any], Any], x: Any, n: Any) -> Any:
    return _chebyshev(first, x + x - 1, n)


def _hermite_h(x: Any, n: Any) -> Any:
    return _limited(x + x, lambda k, x, p, q: (x + x) * q - (k + k) * p, x, n)


def _hermite_he(x: Any, n: Any) -> Any:
    return _limited(x, lambda k, x, p, q: x * q - k * p, x, n)


def _limited(first: Any, step: _Step, x: Any, n: Any) -> Any:
    import torch

    limit, n = _HERMITE[x.dtype.itemsize], n.to(torch.int64)
    found = _polynomial(first, step, x, n.clamp(max=limit))
    return torch.where(n > limit, math.nan, found)


def _laguerre(x: Any, n: Any) -> Any:
    return _polynomial(1 - x, lambda k, x, p, q: ((k + k + (1 - x)) * q - k * p) / (k + 1), x, n)


def _legendre(x: Any, n: Any) -> Any:
    return _polynomial(x, lambda k, x, p, q: ((k + k + 1) * x * q - k * p) / (k + 1), x, n)
