"""Imports products of truth values of JAX; IREE must agree with JAX."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.frontends import import_model, jax_truths
from bmc.frontends.options import ImportOptions

_MODEL = """
import jax.numpy as jnp
import numpy as np
from bmc import spec

_X = np.random.default_rng(1).integers(0, 2, (2, 3, 300)).astype(bool)


def function(x):
    # Each is a count that a byte may hold, or not.
    return x[0] @ x[1].T, jnp.einsum("ijk,ilk->ijl", x, x), jnp.where(x[0] @ x[0, 0], 2.0, 3.0)


def make():
    byte = np.ones_like(_X) & (np.arange(300) < 256)
    return spec.ModelSpec(function, ((_X,), (_X & ~_X[:, ::-1],), (byte,)), ())
"""


class JaxTruthsTest(support.FolderTest):
    def load(self) -> str:
        path = self.write("model.py", _MODEL)
        model = import_model(f"{path}:make", ImportOptions(), self.folder / "out")
        return model.second_reference

    def test_they_are_right(self) -> None:
        self.assertIn(support.AGREES, self.load())

    def test_without_it_they_are_refused(self) -> None:
        with mock.patch.object(jax_truths, "apply"):
            error = self.refuses("import-disagrees", "of case 0 is off by", call=self.load)
        self.assertNotIn("sign of a zero", str(error))


if __name__ == "__main__":
    unittest.main()
