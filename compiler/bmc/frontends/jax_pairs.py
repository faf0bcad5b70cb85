"""Complex inputs and outputs of JAX's functions as pairs of real numbers, since the runtime has no such type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bmc import spec
from bmc.dtype import Array


def real(case: spec.Case) -> spec.Case:
    """Returns the arrays with each complex one, [...], as floats, [..., 2]: real and imaginary parts."""
    return tuple(_real(array) if np.iscomplexobj(array) else array for array in case)


def taking_pairs(function: Callable[..., Any], case: spec.Case) -> Callable[..., Any]:
    """Returns a function of pairs that returns pairs.

    Args:
      function: one that JAX traces.
      case: its arguments, of which some are complex, or some of what it returns for them.
    """
    import jax
    from jax import numpy as jnp

    which = [np.iscomplexobj(array) for array in case]

    def split(leaf: Any) -> Any:
        if not jnp.iscomplexobj(leaf):
            return leaf
        return jnp.stack([jnp.real(leaf), jnp.imag(leaf)], axis=-1)

    def call(*given: Any) -> Any:
        arguments = (
            jax.lax.complex(each[..., 0], each[..., 1]) if is_complex else each
            for each, is_complex in zip(given, which, strict=True)
        )
        return jax.tree.map(split, function(*arguments))

    return call


def notes(names: Sequence[str], case: spec.Case) -> tuple[str, ...]:
    """Returns a sentence for the user on each array that is complex."""
    return tuple(
        f"{name} is complex: its last dimension, of 2, has the real and the imaginary parts"
        for name, array in zip(names, case, strict=True)
        if np.iscomplexobj(array)
    )


def _real(array: Array) -> Array:
    parts = np.ascontiguousarray(array).view(array.real.dtype)
    return parts.reshape((*array.shape, 2))
