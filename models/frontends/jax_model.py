"""A small attention layer in JAX; random weights."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from bmc.spec import ModelSpec, Tolerance

_WIDTH = 16


def attention() -> ModelSpec:
    """Self-attention over eight tokens, f32 [8, 16], the first `count` of which exist (i32 [1])."""
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    weights = {
        name: jax.random.normal(key, (_WIDTH, _WIDTH)) / 4
        for name, key in zip(("query", "key", "value", "out"), keys, strict=True)
    }

    def forward(tokens: jax.Array, count: jax.Array) -> dict[str, jax.Array]:
        scores = (tokens @ weights["query"]) @ (tokens @ weights["key"]).T / 4
        scores = jnp.where(jnp.arange(tokens.shape[0]) < count, scores, -1e9)
        mixed = jax.nn.softmax(scores) @ (tokens @ weights["value"])
        return {"mixed": jax.nn.gelu(mixed @ weights["out"])}

    rng = np.random.default_rng(0)
    tokens = rng.standard_normal((8, _WIDTH)).astype(np.float32)
    cases = tuple((tokens, np.array([count], np.int32)) for count in (8, 3))
    return ModelSpec(forward, cases, Tolerance(atol=1e-5, rtol=1e-5))
