"""Imports functions of JAX arrays, and tests the errors for those that cannot be imported."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import unittest

import numpy as np
import support

from bmc import artifacts, spec
from bmc.artifacts import ImportedModel
from bmc.frontends import import_model
from bmc.frontends.options import INT8, ImportOptions

_AGREES = "IREE's host runtime agrees with the framework"

# line() finds lines by their comments.
_MODEL = '''"""Small functions, some of them impossible."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from bmc import spec

_X = np.arange(8, dtype=np.float32).reshape(2, 4) / 8
_CLOSE = spec.Tolerance(1e-5, 1e-5)
_WEIGHTS = {"dense": {"kernel": jnp.arange(400.0).reshape(4, 100) / 400, "bias": jnp.ones(100)}}


def _spec(function, *case, **options):
    options = {"tolerance": _CLOSE, **options}
    return spec.ModelSpec(function, (case or (_X,),), **options)


def network():
    def forward(x, shift):
        dense = _WEIGHTS["dense"]
        return {"scores": x @ dense["kernel"] + dense["bias"], "ints": (shift + 1, shift * 2)}

    policies = (spec.Exact(), spec.Exact(), _CLOSE)
    return _spec(forward, _X, np.array([1, 2], np.int32), tolerance=policies)


def partial():
    def forward(weights, x):
        return jnp.tanh(x @ weights["kernel"])

    return _spec(functools.partial(forward, _WEIGHTS["dense"]))


def compiled():
    @jax.jit
    def forward(x, unused):
        return x @ _WEIGHTS["dense"]["kernel"]

    return _spec(forward, _X, _X)


def derivative():
    return _spec(jax.value_and_grad(lambda x: (x**2).sum()), tolerance=_CLOSE)


def rows():
    return _spec(jax.jit(jax.vmap(lambda row: row / row.sum())))


def decorated():
    def bound(function):
        return functools.wraps(function)(lambda x: function(x, 3))

    return _spec(bound(lambda x, factor: x * factor))


def extremes():
    dividends = jnp.array([5, -(2**31), 2**31 - 1, -7], jnp.int32)
    divisors = jnp.array([0, -1, -1, 2], jnp.int32)
    constants = (lambda: dividends // divisors, lambda: jax.lax.rem(dividends, divisors))
    return _spec(
        lambda x: tuple(x ^ constant() for constant in constants),
        np.arange(1, 5, dtype=np.int32),
        tolerance=spec.Exact(),
    )


def whole():
    # LLVM rounds towards zero here, for which the host's oldest instructions have only a function.
    return _spec(lambda x: jnp.where(x * 8 == jnp.floor(x * 8), x, -x))


def otherwise_when_traced():
    return _spec(lambda x: x + isinstance(x, jax.core.Tracer))


def other_type_when_traced():
    return _spec(lambda x: x.view(jnp.int32) if isinstance(x, jax.core.Tracer) else x)


def nan():
    weights = jnp.full((4, 100), jnp.nan)

    @jax.jit
    def inner(x):
        return x @ weights

    return _spec(lambda x: inner(x) + 1)


def nan_by_name():
    weights = jnp.full((4, 100), jnp.nan)
    return _spec(lambda x: x @ weights)


def branch():
    def forward(x):
        if x.sum() > 0:  # branch
            return x
        return x + 1

    return _spec(forward)


def mismatch():
    def forward(x):
        return x @ jnp.ones((5, 5))  # mismatch

    return _spec(forward)


def callback():
    def forward(x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda y: y, shape, x)  # callback

    return _spec(forward)


def library():
    return _spec(lambda x: jnp.linalg.svd(x)[1])


def wide():
    return _spec(lambda x: x + 1, _X.astype(np.int64), tolerance=spec.Exact())


def scalar():
    return _spec(lambda x: x + 1, np.float32(3).reshape(()))


def empty():
    def forward(x, none):
        return jnp.concatenate([x, none]), jnp.sort(none), jnp.prod(none, axis=0), x[:, :0] * 2

    return _spec(forward, _X, np.zeros((0, 4), np.float32))


def nothing():
    return _spec(lambda x: ())


def remembering():
    seen = []

    def function(x):
        seen.append(x)
        return x + 1

    return _spec(function)


def too_few():
    return _spec(lambda x, y: x + y)


def ragged():
    return spec.ModelSpec(lambda x: x + 1, ((_X,), (_X[:1],)), _CLOSE)


def control():
    def forward(x):
        y = jax.lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v + 1, x)
        return jax.lax.while_loop(lambda v: v.sum() < 99, lambda v: v * 2, y), jax.lax.top_k(y, 2)

    return _spec(forward, tolerance=(_CLOSE, _CLOSE, spec.Exact()))
'''

# JAX enables 64-bit types for the whole process, so these are last.
_TYPES = "float16 float32 int8 uint8 int16 int32 bool int64 float64"

line = functools.partial(support.place, _MODEL)


class JaxTest(support.FolderTest):
    def load(self, factory: str, quantize: str = "") -> ImportedModel:
        path = self.write("model.py", _MODEL)
        options = ImportOptions(quantize=quantize)
        return import_model(f"{path}:{factory}", options, self.folder / "out")

    def rejects(self, factory: str, kind: str, *parts: str, **options: str) -> None:
        self.refuses(kind, *parts, call=lambda: self.load(factory, **options))

    def signature(self, model: ImportedModel) -> list[str]:
        (signature,) = model.signatures
        return [info.describe() for info in (*signature.inputs, *signature.outputs)]

    def test_names_are_those_of_the_function(self) -> None:
        model = self.load("network")
        self.assertEqual(
            self.signature(model),
            ["x: 2x4xf32", "shift: 2xi32", "ints.0: 2xi32", "ints.1: 2xi32", "scores: 2x100xf32"],
        )
        self.assertEqual(
            [(p.name, p.shape) for p in model.parameters],
            [("_WEIGHTS.dense.bias", (100,)), ("_WEIGHTS.dense.kernel", (4, 100))],
        )
        self.assertIn(_AGREES, model.second_reference)
        self.assertEqual(model.golden.source, artifacts.GOLDEN_FRAMEWORK)
        data = model.mlir.read_bytes()
        self.assertIn(b"model.py", data)
        self.assertNotIn(str(self.folder).encode(), data)
        self.assertEqual(self.load("network").mlir.read_bytes(), data)

    def test_settings_of_jax_are_the_callers(self) -> None:
        import jax

        before = dict(jax.config.values)
        self.load("network")
        self.rejects("branch", "export-rejected")
        self.assertEqual(dict(jax.config.values), before)

    def test_weights_of_a_partial(self) -> None:
        model = self.load("partial")
        self.assertEqual(self.signature(model), ["x: 2x4xf32", "output0: 2x100xf32"])
        self.assertEqual([p.name for p in model.parameters], ["weights.kernel"])

    def test_function_that_is_compiled_already(self) -> None:
        model = self.load("compiled")
        inputs = ["x: 2x4xf32", "unused: 2x4xf32"]
        self.assertEqual(self.signature(model), [*inputs, "output0: 2x100xf32"])
        self.assertEqual([p.name for p in model.parameters], ["_WEIGHTS.dense.kernel"])

    def test_wrapped_function_is_the_model(self) -> None:
        x = np.arange(8, dtype=np.float32).reshape(2, 4) / 8
        for factory, *expected in (
            ("derivative", (x**2).sum(), 2 * x),
            ("rows", x / x.sum(1, keepdims=True)),
            ("decorated", 3 * x),
        ):
            with self.subTest(factory):
                model = self.load(factory)
                self.assertIn(_AGREES, model.second_reference)
                for got, want in zip(model.golden.outputs[0], expected, strict=True):
                    np.testing.assert_allclose(got, want, rtol=1e-6)

    def test_function_that_is_another_one_when_traced(self) -> None:
        self.rejects("otherwise_when_traced", "import-disagrees", "off by 1, 8 elements differ")
        returned = "(2x4xint32) in IREE, but the framework returned (output0: 2x4xf32)"
        self.rejects("other_type_when_traced", "import-disagrees", returned)

    def test_constants_are_divided_as_jax_does(self) -> None:
        # XLA would divide them when it compiles, and end the process with SIGFPE.
        self.assertIn(_AGREES, self.load("extremes").second_reference)

    def test_branches_and_loops(self) -> None:
        self.assertIn(_AGREES, self.load("control").second_reference)

    def test_numbers_that_are_whole(self) -> None:
        self.assertIn(_AGREES, self.load("whole").second_reference)

    def test_scalar(self) -> None:
        model = self.load("scalar")
        self.assertEqual(self.signature(model), ["x: f32", "output0: f32"])
        self.assertEqual(model.golden.outputs[0][0].item(), 4.0)

    def test_tensors_without_elements(self) -> None:
        model = self.load("empty")
        self.assertEqual(
            [array.shape for array in model.golden.outputs[0]], [(2, 4), (0, 4), (4,), (2, 0)]
        )
        self.assertIn(_AGREES, model.second_reference)

    def test_models_that_cannot_be_exported(self) -> None:
        for factory, kind, *parts in (
            ("nan", "bad-weight", "'constant0' contains NaN"),
            ("nan_by_name", "bad-weight", "'weights' contains NaN"),
            ("branch", "export-rejected", "traced array", line("branch")),
            ("mismatch", "model-failed", "dot_general", line("mismatch")),
            ("callback", "op-rejected", "'pure_callback'", line("callback")),
            ("library", "op-rejected", "JAX computes 'svd'", "other ops"),
            ("wide", "unsupported-dtype", "x: 2x4xi64 would become int32", "jax_enable_x64"),
            ("nothing", "bad-signature", "the model has no outputs"),
            ("too_few", "bad-spec", "case 0 has 1 arrays but the function takes (x, y)"),
            ("ragged", "bad-spec", "case 1 is (x: 1x4xf32)"),
        ):
            with self.subTest(factory):
                self.rejects(factory, kind, *parts)

    def test_what_a_function_remembers_is_no_weight(self) -> None:
        self.assertEqual(self.load("remembering").parameters, ())

    def test_int8_is_not_for_jax(self) -> None:
        self.rejects("network", "bad-option", "no quantization of its own", quantize=INT8)

    def test_pytorch_and_tensorflow_are_not_needed(self) -> None:
        if (
            "TEST_SRCDIR" in os.environ
        ):  # Only Bazel leaves out packages that the test does not name.
            for package in ("torch", "tensorflow", "keras"):
                self.assertIsNone(importlib.util.find_spec(package))
        self.load("partial")
        self.assertNotIn("torch", sys.modules)
        self.assertNotIn("tensorflow", sys.modules)


class TypesTest(support.FolderTest):
    def test_element_types(self) -> None:
        text = _MODEL
        for name in _TYPES.split():
            text += (
                f"\ndef {name}():\n"
                f"    jax.config.update('jax_enable_x64', '64' in '{name}')\n"
                f"    exact = spec.Tolerance(0, 0) if 'float' in '{name}' else spec.Exact()\n"
                f"    x = _X.astype('{name}')\n"
                f"    return _spec(lambda x: ~x if x.dtype == jnp.bool_ else x + 1, x, tolerance=exact)\n"
            )
        path = self.write("element_types.py", text)
        self.addCleanup(
            lambda: importlib.import_module("jax").config.update("jax_enable_x64", False)
        )
        for name in _TYPES.split():
            with self.subTest(name):
                model = import_model(f"{path}:{name}", ImportOptions(), self.folder / "out")
                self.assertIn(_AGREES, model.second_reference)
                self.assertEqual(model.golden.outputs[0][0].dtype, np.dtype(name))
                wanted = spec.Tolerance(0, 0) if "float" in name else spec.Exact()
                self.assertEqual(model.golden.policies, (wanted,))

    def test_f64_inside(self) -> None:
        path = self.write(
            "doubles.py",
            _MODEL + "\ndef make():\n    jax.config.update('jax_enable_x64', True)\n"
            "    return _spec(lambda x: jnp.exp(x.astype(jnp.float64)).astype(jnp.float32))\n",
        )
        self.addCleanup(
            lambda: importlib.import_module("jax").config.update("jax_enable_x64", False)
        )
        (note,) = import_model(f"{path}:make", ImportOptions(), self.folder / "out").notes
        self.assertRegex(note, r"stablehlo.exponential \(at doubles.py:\d+\) computes in f64")


if __name__ == "__main__":
    unittest.main()
