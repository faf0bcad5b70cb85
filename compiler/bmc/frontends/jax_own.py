"""Which operations of JAX are written with others, because JAX calls a library that the target does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bmc.frontends import jax_factors, jax_fourier


def rules() -> tuple[tuple[Any, Callable[..., Any]], ...]:
    """Returns a lowering rule for each such primitive."""
    # Three primitives have no public name.
    from jax._src.lax import ann, fft
    from jax._src.lax import linalg as own
    from jax.interpreters import mlir
    from jax.lax import linalg

    made = (
        (fft.fft_p, jax_fourier.fft, False),
        (linalg.cholesky_p, jax_factors.cholesky, False),
        (linalg.triangular_solve_p, jax_factors.triangular_solve, False),
        (linalg.lu_p, jax_factors.lu, True),
        (own.geqrf_p, jax_factors.geqrf, True),
        (linalg.householder_product_p, jax_factors.householder_product, False),
        (ann.approx_top_k_p, _top_k, True),
    )
    return tuple((p, mlir.lower_fun(f, multiple_results=many)) for p, f, many in made)


def _top_k(operand: Any, *, reduction_dimension: int, is_max_k: bool, **sizes: Any) -> list[Any]:
    """The exact extremes of an axis and their places, as JAX computes the approximate ones on a CPU."""
    from jax import lax
    from jax import numpy as jnp
    from jax._src.lax import ann

    kinds, _ = ann.approx_top_k_p.abstract_eval(
        operand.aval, reduction_dimension=reduction_dimension, is_max_k=is_max_k, **sizes
    )
    count = kinds[0].shape[reduction_dimension]
    moved = jnp.moveaxis(operand, reduction_dimension, -1)
    if is_max_k:
        parts = lax.top_k(moved, count)
    else:
        order = lax.broadcasted_iota(jnp.int32, moved.shape, moved.ndim - 1)
        parts = [part[..., :count] for part in lax.sort((moved, order), num_keys=1)]
    return [jnp.moveaxis(part, -1, reduction_dimension) for part in parts]
