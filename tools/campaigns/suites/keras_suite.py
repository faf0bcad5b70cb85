"""The calls of `run_layer_test` in Keras's own tests: a layer, its arguments, and the inputs that it is called on."""

from __future__ import annotations

import ast
import functools
import importlib
import multiprocessing
import unittest
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from case import Case, OutsideError

from bmc import spec
from bmc.artifacts import ImportedModel
from bmc.errors import BmcError
from bmc.frontends.options import ImportOptions

_CALL = "run_layer_test"
_BATCH = 2
# Up to 49 million numbers from products with few columns.
_LARGE = "stft_spectrogram_test.TestSpectrogram.test_spectrogram_basics"


@dataclass(frozen=True)
class _Call:
    """What a test passed to run_layer_test."""

    layer: Any
    arguments: dict[str, Any]
    given: dict[str, Any]


@dataclass(frozen=True)
class _Place:
    """A call of a test: the number-th one of a method."""

    module: str
    suite: str
    method: str
    number: int

    @property
    def name(self) -> str:
        file = self.module.rpartition(".")[2]
        return f"{file}.{self.suite}.{self.method}/{self.number}"


def enter() -> None:
    """Nothing of TensorFlow runs before the processes fork."""


def cases() -> Iterator[Case]:
    """Yields a case for each call, parameterized tests included."""
    # TensorFlow's threads would not survive the fork of a process that has run something.
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply(_found)
    for place, op, dtype, outside in found:
        large = place.name.startswith(_LARGE)
        yield Case(op, dtype, place.name, functools.partial(_load, place), outside, large)


def _found() -> list[tuple[_Place, str, str, str]]:
    import keras

    root = Path(keras.__file__).parent
    found = []
    for path in sorted(root.glob("src/**/*_test.py")):
        named = _methods(path)
        if not named:
            continue
        module = ".".join(("keras", *path.relative_to(root).with_suffix("").parts))
        try:
            importlib.import_module(module)
        except ImportError:
            # It tests how Keras works with a package that is not pinned.
            continue
        for suite, method in _tests(module, named):
            for number, call in enumerate(_record(module, suite, method)):
                place = _Place(module, suite, method, number)
                found.append((place, call.layer.__name__, _dtype(call), _outside(call)))
    return found


def _methods(path: Path) -> set[str]:
    """Returns the methods of a file that call run_layer_test."""
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(n, ast.Attribute) and n.attr == _CALL for n in ast.walk(node))
    }


def _tests(module: str, named: set[str]) -> Iterator[tuple[str, str]]:
    """Yields the tests of a module that come from these methods; a parameterized one has a longer name."""
    for name, kind in sorted(vars(importlib.import_module(module)).items()):
        if isinstance(kind, type) and issubclass(kind, unittest.TestCase):
            for method in unittest.defaultTestLoader.getTestCaseNames(kind):
                if any(method == one or method.startswith(one) for one in named):
                    yield name, method


def _record(module: str, suite: str, method: str) -> list[_Call]:
    """Runs a test in which run_layer_test only notes what it is called with."""
    kind = getattr(importlib.import_module(module), suite)
    calls: list[_Call] = []

    def note(self: Any, layer_cls: Any, init_kwargs: Any, **given: Any) -> None:
        calls.append(_Call(layer_cls, dict(init_kwargs), given))

    recording = type(kind.__name__, (kind,), {_CALL: note, "__module__": kind.__module__})
    recording(method).run(unittest.TestResult())
    return calls


def _dtype(call: _Call) -> str:
    data = call.given.get("input_data")
    if data is None:
        return str(call.given.get("input_dtype") or "float32")
    return str(getattr(data, "dtype", "float32")).removeprefix("<dtype: '").removesuffix("'>")


def _outside(call: _Call) -> str:
    if call.given.get("input_sparse") or call.arguments.get("sparse"):
        return "sparse tensors"
    if call.given.get("input_ragged"):
        return "ragged tensors"
    if _dtype(call) == "string":
        return "strings"
    return "random" if (call.given.get("call_kwargs") or {}).get("training") else ""


def _load(place: _Place, out: Path) -> ImportedModel:
    import keras
    import numpy as np

    from bmc.frontends import keras as frontend

    call = _record(place.module, place.suite, place.method)[place.number]
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    try:
        layer = call.layer(**call.arguments)
    except Exception as error:  # Some tests expect that.
        raise OutsideError("Keras itself refuses it") from error
    tree = keras.tree

    def array(value: Any, dtype: str) -> Any:
        if "int" in dtype:
            return rng.integers(0, 2, value).astype(dtype)
        return rng.random(value) > 0.5 if dtype == "bool" else rng.random(value).astype(dtype)

    data = call.given.get("input_data")
    if data is None:
        shapes = call.given["input_shape"]
        dtype = call.given.get("input_dtype") or "float32"
        is_one = isinstance(shapes, tuple) and not any(isinstance(d, (tuple, list)) for d in shapes)
        paired = shapes if not is_one else [shapes]
        named = paired.items() if isinstance(paired, dict) else enumerate(paired)
        made = {
            key: array(
                [d or _BATCH for d in shape], dtype[key] if isinstance(dtype, dict) else dtype
            )
            for key, shape in named
        }
        data = made if isinstance(shapes, dict) else list(made.values())
        data = data[0] if is_one else data
    data = tree.map_structure(np.asarray, data)
    inputs = tree.map_structure(
        lambda value: keras.Input(batch_shape=value.shape, dtype=str(value.dtype)), data
    )
    more = call.given.get("call_kwargs") or {}
    try:
        # A dict has an input for each argument.
        result = layer(**inputs, **more) if isinstance(inputs, dict) else layer(inputs, **more)
        model = keras.Model(inputs, result)
    except Exception as error:  # Some tests expect that.
        raise OutsideError("Keras itself refuses it") from error
    given = tuple(tree.flatten(data))
    if any(value.dtype.kind in "OSU" for value in given):
        raise BmcError("bad-signature", "an input is a string")
    found = spec.ModelSpec(model, (given,), spec.Tolerance(1e-4, 1e-4))
    try:
        return frontend.import_spec(found, f"{__file__}:cases", ImportOptions(), out)
    except BmcError as error:
        if "seed_generator" in error.message:  # A layer that draws numbers in inference too.
            raise OutsideError("random") from error
        raise
