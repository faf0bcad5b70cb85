"""Computes the logarithm of PyTorch's gamma function and its derivatives, because torch-mlir has nothing for them.

They are Stirling's series after a few steps of their recurrences (Abramowitz and Stegun 6.1.40, 6.3.18, 6.4.11),
reflected for numbers below 1/2 (6.3.7, 6.4.7).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from bmc.frontends.torch_series import Series

# Stirling's series begins here. It has B(2n) / (2n) for the digamma function, and B(2n) for its derivatives.
_STIRLING = 10
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def digamma(x: Any) -> Any:
    """Returns the derivative of the logarithm of the gamma function; `x` is f32 or f64."""
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
def _log_gamma_series() -> Series:
    import torch

    return Series(lambda x: torch.lgamma(x) / ((x - 1) * (x - 2)), 2, 3)


def log_gamma(x: Any) -> Any:
    """Returns the logarithm of the gamma function's size; `x` is f32 or f64.

    It goes to the interval from 2 to 3 in steps, so that the zeros at 1 and 2 are exact.
    """
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


def polygamma(order: int, x: Any) -> Any:
    """Returns the derivative of an order, from 0 on, of the digamma function; `x` is f32 or f64."""
    import torch

    if order == 0:
        return digamma(x)
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
