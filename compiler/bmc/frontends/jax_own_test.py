"""Imports transforms and factors that JAX leaves to libraries of its own; IREE must agree with JAX."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.frontends import import_model, jax_own
from bmc.frontends.options import ImportOptions

_MODEL = """
import jax
import jax.numpy as jnp
import numpy as np
from bmc import spec

_RNG = np.random.default_rng(0)
_X = _RNG.standard_normal((2, 12)).astype(np.float32)
_A = _RNG.standard_normal((2, 4, 4)).astype(np.float32)
_WIDE = _RNG.standard_normal((3, 5)).astype(np.float32)


def transforms():
    def function(x):
        half = jnp.fft.rfft(x)
        image = x.reshape(2, 3, 4)
        return {
            "half": half,
            "back": jnp.fft.irfft(half * 2, 11),
            "plane": jnp.fft.ifft2(image * (1 + 2j)),
            "real": jnp.fft.irfft2(jnp.fft.rfft2(image)[..., :2]),
        }

    return spec.ModelSpec(function, ((_X,),), spec.Tolerance(1e-5, 1e-5))


def factors():
    def function(a, wide):
        z = wide[:, :3] * (1 + 2j)
        q, r = jnp.linalg.qr(wide.T)
        return {
            "inverse": jnp.linalg.inv(a),
            "size": jnp.linalg.det(a),
            "lower": jnp.linalg.cholesky(a @ a.mT + jnp.eye(4)),
            "indefinite": jnp.isnan(jnp.linalg.cholesky(-jnp.eye(3) + 0 * wide[:, :3])),
            "right": jax.lax.linalg.triangular_solve(a, a[:, :2], lower=True, transpose_a=True),
            "solution": jnp.linalg.solve(z, wide),
            "q": q,
            "r": r,
            "complex": jnp.linalg.qr(z)[1],
        }

    # In the order of their names, the second one is no float.
    near = spec.Tolerance(1e-4, 1e-4)
    return spec.ModelSpec(function, ((_A, _WIDE),), (near, spec.Exact(), *[near] * 7))


def approximate():
    def function(x):
        # Of equal elements, JAX gives the places in no order.
        largest = jax.lax.approx_max_k(x, 3, reduction_dimension=0)[0]
        return largest, jax.lax.approx_min_k(x, 2, aggregate_to_topk=False)[0]

    return spec.ModelSpec(function, ((_WIDE,),), spec.Tolerance(1e-6, 0.0), ranges=((-3.0, 3.0),))
"""


class OwnTest(support.FolderTest):
    def test_agrees(self) -> None:
        path = self.write("model.py", _MODEL)
        for name in ("transforms", "factors", "approximate"):
            model = import_model(f"{path}:{name}", ImportOptions(), self.folder / name)
            self.assertIn(support.AGREES, model.second_reference)

    def test_without_them(self) -> None:
        # If this fails, JAX or IREE does it itself, and the rules can go.
        path = self.write("model.py", _MODEL)
        with mock.patch.object(jax_own, "rules", return_value=()):
            for name, part in (
                ("transforms", "stablehlo.fft"),
                ("factors", "in a library of its own"),
                ("approximate", "'approx_top_k' in a library"),
            ):
                self.refuses(
                    "op-rejected",
                    part,
                    call=lambda name=name: import_model(
                        f"{path}:{name}", ImportOptions(), self.folder / name
                    ),
                )


if __name__ == "__main__":
    unittest.main()
