"""Imports Keras models, .keras files, tf.Modules and SavedModel folders. The layout remains NHWC."""

from __future__ import annotations

import contextlib
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bmc import (
    artifacts,
    dtype,
    factory,
    golden,
    installing,
    intake,
    progress,
    samples,
    spec,
    spread,
)
from bmc.artifacts import ImportedModel
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import (
    doubles,
    imported,
    keras_archive,
    quantized,
    quiet,
    saved_model,
    tensorflow_export,
    tensorflow_int8,
    tflite,
    user_cases,
)
from bmc.frontends.options import ImportOptions
from bmc.frontends.survey import Survey
from bmc.golden import Declared
from bmc.limits import Limits


@dataclass(frozen=True)
class _Program:
    """A model as one function.

    Attributes:
      call: a function with one tensor argument per input.
      declared: its inputs, None if the model does not declare them.
      output_names: names of the flattened outputs, () if the model does not name them.
      variables: returns (name, variable) pairs. Call it after `call`, which may create variables.
      recurrent: returns its recurrent Keras layers, after `call` too.
    """

    call: Callable[..., Any]
    declared: tuple[Declared, ...] | None
    output_names: tuple[str, ...]
    variables: Callable[[], Iterable[tuple[str, Any]]]
    recurrent: Callable[[], Iterable[Any]] = tuple


def import_spec(
    model: spec.ModelSpec, source: str, options: ImportOptions, out: Path
) -> ImportedModel:
    """Imports the keras.Model or tf.Module of a ModelSpec.

    Args:
      model: the factory's result. A tf.Module, or a Keras model whose `call` takes several tensors,
        receives the arrays of a case as its arguments.
      source: the file and its factory.
      options: the user's options.
      out: import directory, which must exist.

    Raises:
      BmcError: the model cannot be run, traced, quantized or exported; the error names the layer or op.
    """
    _require_tensorflow()
    path, name = factory.split(source)
    program = _of_object(model.module)
    return _import(program, model, f"{path.name}:{name}", path.parent, options, out)


def import_file(path: Path, options: ImportOptions, out: Path) -> ImportedModel:
    """Imports a .keras file, or the signature 'serving_default' of a SavedModel folder.

    Args:
      path: file or folder.
      options: the user's options; without `cases`, samples.py makes up inputs.
      out: import directory, which must exist.

    Raises:
      BmcError: the file cannot be loaded, or see import_spec().
    """
    _require_tensorflow()
    folder = path.is_dir()
    program = _of_saved_model(path) if folder else _of_keras_file(path, options.limits)
    given = user_cases.of_file(options)
    model = spec.ModelSpec(
        module=None,
        cases=given.cases,
        tolerance=given.tolerance,
        labels=given.labels,
        calibration=given.calibration,
        ranges=given.ranges,
    )
    return _import(program, model, path.name, path.parent, options, out)


def survey_file(path: Path, options: ImportOptions) -> Survey:
    """Returns the inputs of a .keras file or SavedModel, and each op of the latter that does more than compute."""
    _require_tensorflow()
    if path.is_dir() and (found := tuple(saved_model.found(path))):
        return Survey(found=found)
    program = _of_saved_model(path) if path.is_dir() else _of_keras_file(path, options.limits)
    return Survey(inputs=program.declared or (), written_out=any(program.recurrent()))


def _import(
    program: _Program,
    model: spec.ModelSpec,
    source: str,
    folder: Path,
    options: ImportOptions,
    out: Path,
) -> ImportedModel:

    if program.declared is not None:
        declared = golden.sized(program.declared, options.shapes)
        fixed = golden.fix(declared, model.cases[0] if model.cases else None)
        cases = model.cases or samples.cases(fixed)
        names = model.input_names or tuple(info.name for info in fixed)
    elif model.cases:
        cases, names = model.cases, model.input_names
    else:
        raise BmcError(
            "dynamic-shape",
            f"the model in '{source}' has no declared inputs",
            hint=f"give cases ({intake.HOW})",
        )
    inputs = golden.infos(cases[0], names, "input")
    golden.check_cases(cases, inputs)
    progress.begin(progress.GOLDEN)
    results = [_run(program.call, case, folder) for case in cases]
    expected = tuple(map(_arrays, results))
    output_names = model.output_names or program.output_names or _keys(results[0])
    outputs = golden.infos(expected[0], output_names, "output")
    progress.begin(progress.EXPORT)
    with _unrolled(tuple(program.recurrent())):
        traced = tensorflow_export.trace(program.call, inputs, folder)
    variables = tensorflow_export.captured(traced, program.variables())
    weights = _weights(variables)
    if options.quantize:
        progress.begin(progress.QUANTIZE)
        exported = _arrays(_run(traced, cases[0], folder))
        quantized.require_same("TensorFlow", exported, expected[0])
        data = tensorflow_int8.convert(traced, inputs, model.calibration)
        converted = replace(
            model,
            module=spec.ModelFile(".tflite", data),
            # A tolerance for floats means nothing for integers, which must be equal.
            tolerance=(),
            input_names=tuple(info.name for info in inputs),
            output_names=tuple(info.name for info in outputs),
        )
        return tflite.import_spec(converted, source, replace(options, quantize=""), out)
    tensorflow_export.write(traced, inputs, variables, out / artifacts.MODEL_FILE)
    return imported.build(
        model,
        out=out,
        source=source,
        frontend="keras",
        packages=("keras", "tensorflow"),
        inputs=inputs,
        outputs=outputs,
        cases=cases,
        expected=expected,
        weights=weights,
        in_f64=doubles.of_mlir(out / artifacts.MODEL_FILE),
        apart=spread.of("keras", Counter(op.type for op in traced.graph.get_operations())),
        answer=lambda case: _arrays(_run(program.call, case, folder)),
    )


def _require_tensorflow() -> None:
    try:
        with quiet.python():
            import keras
            import tensorflow as tf
    except ImportError as error:
        raise BmcError(
            "tensorflow-missing",
            f"importing a Keras model needs the package {error.name}",
            hint=installing.hint("keras", "tensorflow"),
        ) from None
    if keras.config.backend() != "tensorflow":
        raise BmcError(
            "tensorflow-missing",
            f"Keras runs on {keras.config.backend()} here",
            hint="set KERAS_BACKEND=tensorflow",
        )
    tf.config.set_visible_devices([], "GPU")


def _of_object(model: Any) -> _Program:
    import keras
    import tensorflow as tf

    if isinstance(model, keras.Model):
        return _of_keras(model)
    if not isinstance(model, tf.Module) or not callable(model):
        raise BmcError(
            "bad-spec",
            f"ModelSpec.module is a {type(model).__name__}",
            hint="give a keras.Model or a tf.Module that can be called",
        )
    return _Program(
        call=model,
        declared=None,
        output_names=(),
        variables=lambda: ((v.name.removesuffix(":0"), v) for v in model.variables),
    )


def _of_keras_file(path: Path, allowed: Limits) -> _Program:
    import keras

    keras_archive.check(path, allowed)
    try:
        with quiet.python():
            model = keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:
        raise BmcError(
            "bad-file",
            f"Keras cannot load '{path.name}': {factory.first_line(error)}",
            hint="save it again with this version of Keras, or return the model from a factory if it"
            " has classes or lambdas of its own",
        ) from error
    return _of_keras(model)


def _of_keras(model: Any) -> _Program:
    import keras

    # Functional and Sequential models declare their inputs; others just take their arguments.
    declared = None
    if getattr(model, "inputs", None):
        declared = tuple(_declared(tensor.name, tensor) for tensor in model.inputs)

    output_names = tuple(getattr(model, "output_names", ()))
    if isinstance(model, keras.Sequential):
        if not model.layers:
            raise BmcError("bad-spec", "the keras.Sequential has no layers", hint="add some")
        output_names = (model.layers[-1].name,)

    def call(*tensors: Any) -> Any:
        if len(tensors) == 1:
            return model(tensors[0], training=False)
        if declared:
            return model(keras.tree.pack_sequence_as(model.input, tensors), training=False)
        if _takes_one_argument(model.call):
            return model(list(tensors), training=False)
        return model(*tensors, training=False)

    return _Program(
        call=call,
        declared=declared,
        output_names=output_names,
        variables=lambda: ((variable.path, variable.value) for variable in model.variables),
        recurrent=lambda: _recurrent(list(model._flatten_layers())),
    )


def _recurrent(layers: list[Any]) -> Iterator[Any]:
    """Yields the recurrent layers that may be unrolled.

    Keras does not turn the mask around for the zeros of a layer that is unrolled and goes backwards.
    """
    import keras

    masks = any(
        isinstance(layer, keras.layers.Masking) or getattr(layer, "mask_zero", False)
        for layer in layers
    )
    for layer in filter(lambda layer: isinstance(layer, keras.layers.RNN), layers):
        if not (masks and layer.go_backwards and layer.zero_output_for_mask):
            yield layer


@contextlib.contextmanager
def _unrolled(layers: tuple[Any, ...]) -> Iterator[None]:
    """Unrolls recurrent layers: then they decide nothing at run time, and all their steps share their kernels."""
    before = [layer.unroll for layer in layers]
    for layer in layers:
        layer.unroll = True
    try:
        yield
    finally:
        for layer, unroll in zip(layers, before, strict=True):
            layer.unroll = unroll


def _takes_one_argument(call: Callable[..., Any]) -> bool:
    names = inspect.signature(call).parameters
    return len([name for name in names if name not in ("training", "mask")]) == 1


def _of_saved_model(path: Path) -> _Program:
    import tensorflow as tf

    saved_model.check(path)
    try:
        with quiet.python(), saved_model.without_slots(path) as folder:
            loaded = tf.saved_model.load(folder)
    except Exception as error:
        raise BmcError(
            "bad-file",
            f"TensorFlow cannot load '{path.name}': {factory.first_line(error)}",
            hint="save the model again",
        ) from error
    if saved_model.SIGNATURE not in loaded.signatures:
        raise BmcError(
            "no-main",
            f"the SavedModel '{path.name}' has the signatures {sorted(loaded.signatures)}",
            hint=f"save it with one called {saved_model.SIGNATURE}",
        )
    signature = loaded.signatures[saved_model.SIGNATURE]
    # Signatures take and return names, which TensorFlow flattens in alphabetical order.
    specs = dict(sorted(signature.structured_input_signature[1].items()))

    def call(*tensors: Any) -> Any:
        # Through `loaded`, which keeps the variables alive.
        return loaded.signatures[saved_model.SIGNATURE](**dict(zip(specs, tensors, strict=True)))

    return _Program(
        call=call,
        declared=tuple(_declared(name, spec) for name, spec in specs.items()),
        output_names=tuple(sorted(signature.structured_outputs)),
        variables=lambda: ((v.name.removesuffix(":0"), v) for v in signature.variables),
    )


def _declared(name: str, tensor: Any) -> Declared:
    import tensorflow as tf

    zero = np.zeros((), tf.as_dtype(tensor.dtype).as_numpy_dtype)
    element = dtype.from_numpy(zero, f"input {name}")
    shape = tf.TensorShape(tensor.shape)
    if shape.rank is None:
        raise BmcError(
            "dynamic-shape",
            f"input '{name}' can have any number of dimensions",
            hint="save the model with a signature that gives it a shape",
        )
    return Declared(name, element, tuple(shape.as_list()))


def _run(call: Callable[..., Any], case: spec.Case, folder: Path) -> Any:
    import tensorflow as tf

    try:
        with quiet.python():
            return call(*(tf.constant(array) for array in case))
    except Exception as error:
        raise BmcError(
            "model-failed",
            f"the model raised {type(error).__name__}: {factory.first_line(error)}",
            where=factory.model_line(error, folder),
        ) from error


def _arrays(result: Any) -> spec.Case:
    """Returns a model's outputs, flattened; raises BmcError if one is not a dense tensor."""
    import tensorflow as tf

    leaves = tf.nest.flatten(result)
    for index, leaf in enumerate(leaves):
        if not hasattr(leaf, "numpy") or isinstance(leaf, (tf.RaggedTensor, tf.SparseTensor)):
            raise BmcError(
                "bad-signature",
                f"output {index} of the model is of type {type(leaf).__name__}, not a dense tensor",
                hint="return tensors, or tuples, lists and dicts of them",
            )
    return tuple(np.asarray(leaf.numpy()) for leaf in leaves)


def _keys(result: Any) -> tuple[str, ...]:
    return tuple(sorted(result)) if isinstance(result, dict) else ()


def _weights(variables: dict[str, Any]) -> dict[str, Array]:
    found: dict[str, Array] = {name: variable.numpy() for name, variable in variables.items()}
    for name, array in sorted(found.items()):
        golden.check_finite(name, array)
    return found
