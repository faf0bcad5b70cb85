"""Loops in JAX that write a slice of their results at every step, at places that only the target knows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from bmc.spec import ModelSpec, Tolerance


def slices() -> ModelSpec:
    """Maps a state f32 [8] and rows f32 [3, 4, 8] to slices of the states, of the rows, and of both reversed; and to
    products."""
    weight = jax.random.normal(jax.random.PRNGKey(0), (8, 8)) / 3
    narrow = weight[:, :5]

    def cell(state: jax.Array, row: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        state = jnp.tanh(state @ weight + row)
        return state, (state[:3], row[2:4])

    def block(state: jax.Array, rows: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        state, (heads, _) = jax.lax.scan(cell, state, rows)
        return state, (heads, state[None, 5:])

    def product(state: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = jnp.tanh(state @ weight + row)
        # A kernel computes these 20 bytes where they belong.
        return state, state @ narrow

    def forward(state: jax.Array, rows: jax.Array) -> dict[str, jax.Array]:
        last, (heads, parts) = jax.lax.scan(cell, state, rows.reshape(12, 8))
        _, (nested, tails) = jax.lax.scan(block, last, rows, reverse=True)
        _, products = jax.lax.scan(product, state, rows.reshape(12, 8))
        return {
            "heads": heads,
            "last": last,
            "nested": nested,
            "parts": parts,
            "products": products,
            "tails": tails,
        }

    rng = np.random.default_rng(0)
    cases = tuple(
        (
            rng.standard_normal(8).astype(np.float32),
            rng.standard_normal((3, 4, 8)).astype(np.float32),
        )
        for _ in range(2)
    )
    return ModelSpec(forward, cases, Tolerance(atol=1e-5, rtol=1e-5))
