"""Constant matrices of Fourier transforms that are products."""

from __future__ import annotations

import numpy as np

from bmc.dtype import Array


def roots(size: int, n: Array, k: Array, sign: int) -> Array:
    """Returns exp(sign 2 pi i n k / size), [n, k]; the product is reduced first, which keeps it exact."""
    angle = 2 * np.pi * (np.outer(n, k) % size) / size
    found: Array = np.cos(angle) + sign * 1j * np.sin(angle)
    return found


def as_real(matrix: Array) -> Array:
    """Returns the matrix [(2, n), (2, k)] that multiplies real and imaginary parts in a row by a complex one."""
    return np.block([[matrix.real, matrix.imag], [-matrix.imag, matrix.real]])
