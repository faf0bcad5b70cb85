"""Imports functions of JAX that take and return complex numbers; IREE must agree with JAX on their parts."""

from __future__ import annotations

import unittest

import numpy as np
import support

from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions

_MODEL = """
import jax
import jax.numpy as jnp
import numpy as np
from bmc import spec

_RNG = np.random.default_rng(0)
_Z = (_RNG.standard_normal((4, 5)) + 1j * _RNG.standard_normal((4, 5))).astype(np.complex64)


def make():
    def function(z, x):
        return {
            "product": z @ (z.T + x),
            "size": jnp.abs(z),
            "sorted": jnp.sort(z, axis=0),
            "sums": jnp.cumsum(z, axis=1),
            "power": jax.lax.integer_pow(z, -2),
        }

    return spec.ModelSpec(function, ((_Z, np.float32(0.5)),), ())


def one():
    return spec.ModelSpec(lambda x: jax.lax.complex(x, -x), ((np.float32(3),),), ())
"""


class PairsTest(support.FolderTest):
    def test_inputs_and_outputs(self) -> None:
        path = self.write("model.py", _MODEL)
        model = import_model(f"{path}:make", ImportOptions(), self.folder / "out")
        self.assertIn(support.AGREES, model.second_reference)
        shapes = {info.name: info.shape for info in (*model.inputs, *model.outputs)}
        self.assertEqual(
            shapes,
            {"z": (4, 5, 2), "x": (), "power": (4, 5, 2), "product": (4, 4, 2)}
            | {"size": (4, 5), "sorted": (4, 5, 2), "sums": (4, 5, 2)},
        )
        (z, x), (_, product, size, *_) = model.golden.inputs[0], model.golden.outputs[0]
        numbers = z[..., 0] + 1j * z[..., 1]
        found = product[..., 0] + 1j * product[..., 1]
        np.testing.assert_allclose(found, numbers @ (numbers.T + x), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(size, np.abs(numbers), rtol=1e-6)
        self.assertIn(
            "input z is complex: its last dimension, of 2, has the real and the imaginary parts",
            model.notes,
        )

    def test_the_pairs_of_a_file(self) -> None:
        path = self.write("model.py", _MODEL)
        z = np.random.default_rng(1).standard_normal((3, 4, 5, 2)).astype(np.float32)
        file = self.folder / "inputs.npz"
        np.savez(file, **{"0": z, "1": np.zeros(3, np.float32)})  # type: ignore[arg-type]
        model = import_model(f"{path}:make", ImportOptions(inputs=file), self.folder / "out")
        self.assertEqual(len(model.golden.inputs), 3)
        np.testing.assert_array_equal(model.golden.inputs[2][0], z[2])
        sizes = np.hypot(z[2, ..., 0], z[2, ..., 1])
        np.testing.assert_allclose(model.golden.outputs[2][2], sizes, rtol=1e-6)

    def test_a_single_number(self) -> None:
        path = self.write("model.py", _MODEL)
        model = import_model(f"{path}:one", ImportOptions(), self.folder / "out")
        self.assertEqual(model.golden.outputs[0][0].tolist(), [3.0, -3.0])


if __name__ == "__main__":
    unittest.main()
