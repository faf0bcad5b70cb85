"""Imports functions of JAX that index and sort; made-up inputs go beyond their cases."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.artifacts import ImportedModel
from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions
from bmc.rewrites.meaning import index_bounds, stable_sorts, unsigned_numbers

_MODEL = """
import jax
import jax.numpy as jnp
import numpy as np
from bmc import spec

_X = np.arange(24, dtype=np.float32).reshape(6, 4)
_I = np.array([1, 2], np.int32)


def reads():
    def function(x, i):
        return (
            x[i], x[:, i], x[i, i], x[i[0]], jnp.take(x, i, axis=0), x.at[i].get(mode="fill"),
            jnp.take_along_axis(x, i[:, None], axis=0), jax.lax.dynamic_slice(x, (i[0], i[1]), (2, 2)),
        )

    return spec.ModelSpec(function, ((_X, _I),), ())


def writes():
    def function(x, i):
        return (
            x.at[i].set(x[:2] + 0.5), x.at[i].add(1.0), x.at[i, i].max(7.0), x.at[:, i].set(3.0),
            x.at[i].set(1.0, mode="clip"), jax.lax.dynamic_update_slice(x, x[:2, :2] + 0.5, (i[0], i[1])),
        )

    return spec.ModelSpec(function, ((_X, _I),), ())


def sorts():
    keys, values = np.array([2, 1, 5, 3, 7, 6, 0, 4], np.int32), np.arange(8, dtype=np.float32)
    return spec.ModelSpec(lambda k, v: jax.lax.sort((k, v), num_keys=1), ((keys, values),), ())


def unsigned():
    table, places = np.arange(256, dtype=np.float32), np.array([3, 100, 7], np.uint8)

    def function(t, i):
        return (
            jnp.take(t, i, mode="clip"), i.at[1].set(7), i.at[jnp.array([0, 2])].add(200), jnp.flip(i), i[::-2],
            jax.lax.cummax(i), jnp.pad(i, 2, mode="reflect"),
        )

    return spec.ModelSpec(function, ((table, places),), ())


def descending():
    function = lambda x: (jnp.argsort(x, descending=True), *jax.lax.top_k(x, 3), jnp.argmax(x))
    return spec.ModelSpec(function, ((_X.reshape(-1),),), ())
"""


class JaxIndicesTest(support.FolderTest):
    def load(self, factory: str) -> ImportedModel:
        path = self.write("model.py", _MODEL)
        return import_model(f"{path}:{factory}", ImportOptions(), self.folder / "out")

    def test_they_are_right(self) -> None:
        for factory, kind in (
            ("reads", "indices outside of what they index"),
            ("writes", "indices outside of what they index"),
            ("sorts", "small integers"),
            ("unsigned", "indices outside of what they index"),
            ("descending", "floats with NaN and infinities"),
        ):
            with self.subTest(factory):
                self.assertIn(kind, self.load(factory).made_up)

    def test_without_the_rewrites_made_up_inputs_refuse_the_model(self) -> None:
        for factory, rewrite, kind in (
            ("reads", index_bounds, "indices "),
            ("sorts", stable_sorts, ""),
            ("descending", stable_sorts, "floats with "),
        ):
            with self.subTest(factory), mock.patch.object(rewrite, "apply"):
                call = lambda name=factory: self.load(name)  # noqa: E731
                self.refuses("import-disagrees", f"made-up {kind}", call=call)
        with mock.patch.object(unsigned_numbers, "apply"):
            self.refuses("op-rejected", "iree-compile", call=lambda: self.load("unsigned"))


if __name__ == "__main__":
    unittest.main()
