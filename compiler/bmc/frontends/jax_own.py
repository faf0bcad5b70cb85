"""Which operations of JAX are written with others, because JAX calls a library that the target does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bmc.frontends import jax_factors, jax_fourier


def rules() -> tuple[tuple[Any, Callable[..., Any]], ...]:
    """Returns a lowering rule for each such primitive."""
    # Two primitives have no public name.
    from jax._src.lax import fft
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
    )
    return tuple((p, mlir.lower_fun(f, multiple_results=many)) for p, f, many in made)
