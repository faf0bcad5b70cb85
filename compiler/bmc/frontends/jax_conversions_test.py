"""Imports functions of JAX that make integers of floats; IREE must agree with JAX on all that is out of range."""

from __future__ import annotations

import unittest
from unittest import mock

import jax
import support

from bmc.frontends import import_model, jax_conversions
from bmc.frontends.options import ImportOptions
from bmc.rewrites.meaning import bf16_rounding

_MODEL = """
import jax
import jax.numpy as jnp
import numpy as np
from bmc import spec

_LARGE = (3e9, -3e9, 2.0**31, -(2.0**31), 2147483520, -1e19)
_X = np.array([np.nan, np.inf, -np.inf, *_LARGE, 256, -0.9, 127.5], np.float32)


def narrow():
    kinds = (jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.int32, jnp.uint32)
    return spec.ModelSpec(lambda x: tuple(x.astype(kind) for kind in kinds), ((_X,),), ())


def wide():
    jax.config.update("jax_enable_x64", True)
    return spec.ModelSpec(lambda x: x.astype(jnp.int64), ((np.append(_X, 2.0**63),),), ())


def half():
    function = lambda x: (x.astype(jnp.int32), x.astype(jnp.bfloat16).astype(jnp.int16))
    return spec.ModelSpec(function, ((_X.astype(np.float16),),), ())


def brain():
    # Of 180.47 and 228.6, bf16 has 180 and 229.
    def function(x):
        y = x[0].astype(jnp.bfloat16) * 1.203125
        return jnp.floor(y).astype(jnp.float32), x[1].astype(jnp.bfloat16) * 1.203125 > 180

    x = np.linspace(-200, 200, 41, dtype=np.float32)
    return spec.ModelSpec(function, ((np.stack([x, x]),),), spec.Exact())
"""


class JaxConversionsTest(support.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        # One of the models changes it for the whole process.
        self.addCleanup(jax.config.update, "jax_enable_x64", jax.config.jax_enable_x64)

    def load(self, factory: str) -> str:
        path = self.write("model.py", _MODEL)
        model = import_model(f"{path}:{factory}", ImportOptions(), self.folder / "out")
        return model.second_reference

    def test_they_are_right(self) -> None:
        for factory in ("narrow", "half", "wide"):
            with self.subTest(factory):
                self.assertIn(support.AGREES, self.load(factory))

    def test_brain_floats_are_rounded(self) -> None:
        self.assertIn(support.AGREES, self.load("brain"))
        with mock.patch.object(bf16_rounding, "apply"):
            self.refuses("import-disagrees", "of case 0", call=lambda: self.load("brain"))

    def test_without_it_they_are_refused(self) -> None:
        for factory in ("narrow", "half", "wide"):
            with self.subTest(factory), mock.patch.object(jax_conversions, "apply"):
                call = lambda name=factory: self.load(name)  # noqa: E731
                self.refuses("import-disagrees", "of case 0", call=call)


if __name__ == "__main__":
    unittest.main()
