"""Factors of matrices in JAX's own operations, where JAX calls LAPACK, which the target does not have.

Each is an unblocked algorithm of LAPACK (potf2, getf2, geqr2 and ung2r of its reference implementation, version 3): a
step for each column, with signs and pivots as there. Matrices may be in batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def cholesky(a: Any, **_: Any) -> Any:
    """Returns the lower factor of a [..., n, n], above it what a has there, and NaN if a is not positive definite."""
    from jax import lax
    from jax import numpy as jnp

    if not a.size:
        return a

    def factor(a: Any) -> Any:
        rows = jnp.arange(a.shape[0])

        def step(k: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
            left, made = state
            pivot = jnp.sqrt(jnp.real(left[k, k]))
            column = jnp.where(rows >= k, left[:, k] / pivot, 0)
            column = jnp.where(rows == k, pivot.astype(a.dtype), column)
            left = left - column[:, None] * jnp.conj(column)[None]
            return left, jnp.where(rows == k, column[:, None], made)

        _, made = lax.fori_loop(0, a.shape[0], step, (a, jnp.zeros_like(a)))
        is_definite = jnp.all(jnp.real(jnp.diagonal(made)) > 0)
        return jnp.where(is_definite, jnp.where(rows[:, None] >= rows, made, a), jnp.nan)

    return _in_batches(factor, a)


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    """Returns x of a x = b, or of x a = b: a is [..., n, n], and x and b are [..., n, m] or [..., m, n]."""
    from jax import lax
    from jax import numpy as jnp

    def solved(a: Any, b: Any) -> Any:
        is_lower = lower
        if transpose_a:
            a, is_lower = a.T, not is_lower
        if conjugate_a:
            a = jnp.conj(a)
        if not left_side:
            a, b, is_lower = a.T, b.T, not is_lower
        if not is_lower:
            a, b = a[::-1, ::-1], b[::-1]
        rows = jnp.arange(a.shape[0])[:, None]

        def step(k: Any, left: Any) -> Any:
            row = left[k] if unit_diagonal else left[k] / a[k, k]
            left = jnp.where(rows == k, row, left)
            return left - jnp.where(rows > k, a[:, k][:, None] * row, 0)

        x = lax.fori_loop(0, a.shape[0], step, b)
        x = x if is_lower else x[::-1]
        return x if left_side else x.T

    return _in_batches(solved, a, b)


def lu(a: Any, **_: Any) -> Any:
    """Returns both factors of a [..., m, n] in one, the rows that were exchanged, and their order at the end."""
    from jax import lax
    from jax import numpy as jnp

    def factor(a: Any) -> Any:
        size = min(a.shape)
        rows, columns = (jnp.arange(each, dtype=jnp.int32) for each in a.shape)

        def step(k: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            left, pivots, order = state
            column = left[:, k]
            sizes = jnp.abs(jnp.real(column)) + jnp.abs(jnp.imag(column))
            best = jnp.argmax(jnp.where(rows >= k, sizes, -1)).astype(jnp.int32)
            exchanged = jnp.where(rows == k, best, jnp.where(rows == best, k, rows))
            left, order = left[exchanged], order[exchanged]
            pivots = jnp.where(rows[:size] == k, best, pivots)
            pivot = left[k, k]
            column = jnp.where((rows > k) & (pivot != 0), left[:, k] / pivot, left[:, k])
            left = jnp.where(columns == k, column[:, None], left)
            behind = (rows > k)[:, None] & (columns > k)
            return left - jnp.where(behind, column[:, None] * left[k], 0), pivots, order

        return lax.fori_loop(0, size, step, (a, rows[:size], rows))

    return _in_batches(factor, a)


def geqrf(a: Any) -> Any:
    """Returns R above, and the reflectors below the diagonal of a [..., m, n], and their factors [..., min(m, n)]."""
    from jax import lax
    from jax import numpy as jnp

    def factor(a: Any) -> Any:
        size = min(a.shape)
        rows, columns = map(jnp.arange, a.shape)

        def step(k: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
            left, factors = state
            first, below = left[k, k], jnp.where(rows > k, left[:, k], 0)
            length = jnp.sqrt(jnp.sum(jnp.abs(below) ** 2))
            whole = jnp.hypot(jnp.abs(first), length)
            beta = jnp.where(jnp.real(first) < 0, whole, -whole)
            is_done = (length == 0) & (jnp.imag(first) == 0)
            safe = jnp.where(is_done, 1, beta)
            tau = jnp.where(is_done, 0, (safe - first) / safe).astype(a.dtype)
            reflector = jnp.where(is_done, 0, below / jnp.where(is_done, 1, first - beta))
            reflector = jnp.where(rows == k, 1, reflector).astype(a.dtype)
            products = jnp.conj(reflector) @ left
            turned = left - jnp.conj(tau) * reflector[:, None] * products[None]
            left = jnp.where(columns > k, turned, left)
            column = jnp.where(rows > k, reflector, left[:, k])
            column = jnp.where(rows == k, jnp.where(is_done, first, beta), column)
            left = jnp.where(columns == k, column[:, None], left)
            return left, jnp.where(jnp.arange(size) == k, tau, factors)

        return lax.fori_loop(0, size, step, (a, jnp.zeros(size, a.dtype)))

    return _in_batches(factor, a)


def householder_product(a: Any, taus: Any) -> Any:
    """Returns the product of reflectors that geqrf() made: the first n columns of Q, for a [..., m, n]."""
    from jax import lax
    from jax import numpy as jnp

    def product(a: Any, taus: Any) -> Any:
        rows, count = jnp.arange(a.shape[0]), taus.shape[0]

        def step(number: Any, made: Any) -> Any:
            k = count - 1 - number
            reflector = jnp.where(rows > k, a[:, k], jnp.where(rows == k, 1, 0)).astype(a.dtype)
            return made - taus[k] * reflector[:, None] * (jnp.conj(reflector) @ made)[None]

        return lax.fori_loop(0, count, step, jnp.eye(a.shape[0], a.shape[1], dtype=a.dtype))

    return _in_batches(product, a, taus)


def _in_batches(function: Callable[..., Any], *arrays: Any) -> Any:
    """Calls a function on matrices or vectors with as many dimensions more in front as the first one has beyond two."""
    import jax

    batch = arrays[0].shape[:-2]
    if not batch:
        return function(*arrays)
    flat = [array.reshape(math.prod(batch), *array.shape[len(batch) :]) for array in arrays]
    results = jax.vmap(function)(*flat)
    return jax.tree.map(lambda each: each.reshape(*batch, *each.shape[1:]), results)
