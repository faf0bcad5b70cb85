"""Fourier transforms of JAX as products with constant matrices, which IREE has fast kernels for.

A transform of N = A B elements takes two stages (Cooley and Tukey, "An algorithm for the machine calculation of complex
Fourier series", 1965), each a product of real numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import fourier


def fft(x: Any, *, fft_type: Any, fft_lengths: tuple[int, ...]) -> Any:
    """Returns the transform of x along its last axes, as `jax.lax.fft` defines it."""
    from jax import lax
    from jax import numpy as jnp

    kind = fft_type.name
    axes = range(x.ndim - len(fft_lengths), x.ndim)
    if kind == "IRFFT":
        last = fft_lengths[-1]
        for axis, size in list(zip(axes, fft_lengths, strict=True))[:-1]:
            x = _along(x, axis, size, 1)
        inner = x[..., 1 : (last + 1) // 2]
        mirrored = jnp.conj(inner[..., ::-1])
        # The imaginary parts of what is its own mirror image do not count.
        ends = (x[..., :1], x[..., last // 2 : last // 2 + 1]) if last > 1 else (x[..., :1],)
        first, *middle = (lax.complex(jnp.real(end), jnp.zeros_like(jnp.real(end))) for end in ends)
        parts = [first, inner, *(middle if last % 2 == 0 else ()), mirrored]
        return jnp.real(_along(jnp.concatenate(parts, -1), x.ndim - 1, last, 1))
    if kind == "RFFT":
        x = lax.complex(x, jnp.zeros_like(x))
    for axis, size in reversed(list(zip(axes, fft_lengths, strict=True))):
        x = _along(x, axis, size, 1 if kind == "IFFT" else -1)
        if kind == "RFFT" and axis == x.ndim - 1:
            x = x[..., : size // 2 + 1]
    return x


def _along(x: Any, axis: int, size: int, sign: int) -> Any:
    """Transforms complex numbers along an axis of a size; the inverse, with the sign 1, divides by it."""
    from jax import lax
    from jax import numpy as jnp

    if not size:
        return x
    moved = jnp.moveaxis(x, axis, -1)
    first = max(d for d in range(1, math.isqrt(size) + 1) if size % d == 0)
    second = size // first
    others = moved.shape[:-1]
    parts = jnp.stack((jnp.real(moved), jnp.imag(moved)), -1).reshape(-1, first, second, 2)
    dtype = parts.dtype
    # n = second * n1 + n2 and k = k1 + first * k2.
    parts = _product(
        parts.transpose(0, 2, 3, 1),
        fourier.roots(first, np.arange(first), np.arange(first), sign),
        dtype,
    )
    turn = fourier.roots(size, np.arange(second), np.arange(first), sign)
    real, imaginary = parts[..., 0, :], parts[..., 1, :]
    cosine, sine = (jnp.asarray(each, dtype) for each in (turn.real, turn.imag))
    parts = jnp.stack(
        (real * cosine - imaginary * sine, real * sine + imaginary * cosine), 1
    )  # [rows, 2, n2, k1]
    matrix = fourier.roots(second, np.arange(second), np.arange(second), sign) / (
        size if sign > 0 else 1
    )
    parts = _product(parts.transpose(0, 3, 1, 2), matrix, dtype)
    # [rows, k1, 2, k2] -> [rows, k2, k1]
    parts = parts.transpose(0, 3, 1, 2)
    made = lax.complex(parts[..., 0], parts[..., 1]).reshape(*others, size)
    return jnp.moveaxis(made, -1, axis)


def _product(parts: Any, matrix: Array, dtype: Any) -> Any:
    """Multiplies real and imaginary parts [rows, columns, 2, n] by a complex matrix [n, k]."""
    from jax import lax
    from jax import numpy as jnp

    rows, columns, _, size = parts.shape
    flat = parts.reshape(rows * columns, 2 * size)
    made = jnp.matmul(
        flat, jnp.asarray(fourier.as_real(matrix), dtype), precision=lax.Precision.HIGHEST
    )
    return made.reshape(rows, columns, 2, matrix.shape[1])
