"""Imports a function of JAX arrays with jax.export, which writes portable StableHLO."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bmc import artifacts, factory, golden, installing, progress, spec
from bmc.artifacts import ImportedModel, TensorInfo
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import doubles, imported, jax_conversions, jax_own, jax_pairs, quiet
from bmc.frontends.options import ImportOptions

# loc("svd"), loc("jit(model)/eig"(...)) or loc("jit(model)/pure_callback:"(...))
_PRIMITIVE = re.compile(r'^loc\("(?:[^"]*/)?([^"/:]+):?"')
_MODEL_LINE = re.compile(r'"([^"]+)":(\d+):\d+')
_OTHER_OPS = "rewrite that part of the model with other ops"


def import_spec(
    model: spec.ModelSpec, source: str, options: ImportOptions, out: Path
) -> ImportedModel:
    """Imports the function of a ModelSpec. Its parameters are the arrays that it closes over.

    Args:
      model: the factory's result. f64 and i64 need `jax.config.update("jax_enable_x64", True)` in the
        model file.
      source: the file and its factory.
      options: the user's options.
      out: import directory, which must exist.

    Raises:
      BmcError: the function cannot be traced or run, or contains an op that is not StableHLO; the error
        names the op.
    """
    _require_jax()
    import jax

    if options.quantize:
        raise BmcError(
            "bad-option",
            "JAX has no quantization of its own",
            hint="leave out quantize, or compute with int8 arrays in the function",
        )
    path, name = factory.split(source)
    names = _names(model.module, len(model.cases[0]))
    cases = tuple(map(jax_pairs.real, model.cases))
    inputs = golden.infos(cases[0], model.input_names or names, "input")
    golden.check_cases(cases, inputs)
    with _locations_relative_to(path.parent):
        progress.begin(progress.GOLDEN)
        # Before it is traced: what the user gave, called as the user would.
        returned = tuple(_run(model.module, case, path.parent) for case in model.cases)
        expected = tuple(map(jax_pairs.real, returned))
        called = model.module
        if any(map(np.iscomplexobj, (*model.cases[0], *returned[0]))):
            called = jax_pairs.taking_pairs(called, model.cases[0])
        progress.begin(progress.EXPORT)
        # JAX would drop arguments that the function does not use.
        function = jax.jit(called, keep_unused=True)
        traced = _trace(function, inputs, path.parent)
        constants = _constants(model.module, traced)
        for constant, array in constants.items():
            golden.check_finite(constant, array)
        outputs = golden.infos(expected[0], model.output_names or _keys(traced.out_info), "output")
        progress.begin(progress.CONVERT)
        _export(function, traced, inputs, out / artifacts.MODEL_FILE)
        jax_conversions.apply(out / artifacts.MODEL_FILE)
    result = imported.build(
        model,
        out=out,
        source=f"{path.name}:{name}",
        frontend="jax",
        packages=("jax", "jaxlib"),
        inputs=inputs,
        outputs=outputs,
        cases=cases,
        expected=expected,
        weights=constants,
        in_f64=doubles.of_mlir(out / artifacts.MODEL_FILE),
        answer=lambda case: _run(called, case, path.parent),
    )
    notes = (
        *jax_pairs.notes([f"input {info.name}" for info in inputs], model.cases[0]),
        *jax_pairs.notes([f"output {info.name}" for info in outputs], returned[0]),
    )
    return replace(result, notes=(*result.notes, *notes))


def _require_jax() -> None:
    try:
        with quiet.python():
            import jax
            import jax.export  # noqa: F401
        # Processes that bmc starts are other programs.
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
    except ImportError as error:
        raise BmcError(
            "jax-missing",
            f"importing a function of arrays needs the package {error.name}",
            hint=installing.hint("jax"),
        ) from None


def _names(function: Callable[..., Any], count: int) -> tuple[str, ...]:
    """Names of the function's required arguments, () if it takes any number of them.

    A decorator may hide the arguments of what it wraps, so only the call shows whether those fit.

    Raises:
      BmcError: the function does not take `count` arguments.
    """
    arguments = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [a for a in arguments if a.default is a.empty]
    if not required or any(argument.kind not in kinds for argument in required):
        return ()
    names = tuple(argument.name for argument in required)
    if len(names) == count:
        return names
    if hasattr(function, "__wrapped__"):
        return ()
    raise BmcError(
        "bad-spec",
        f"case 0 has {count} arrays but the function takes ({', '.join(names)})",
        hint="parameters are what the function closes over, or bound with functools.partial",
    )


@contextlib.contextmanager
def _locations_relative_to(folder: Path) -> Iterator[None]:
    """Makes file names in the MLIR independent of where the model and Python are installed."""
    import jax

    roots = sorted({str(folder.absolute()), *filter(None, sys.path)}, key=len, reverse=True)
    pattern = "|".join(re.escape(root) for root in roots)
    settings = {
        "jax_hlo_source_file_canonicalization_regex": f"^(?:{pattern})/",
        "jax_traceback_in_locations_limit": 1,
    }
    before = {name: getattr(jax.config, name) for name in settings}
    try:
        for name, value in settings.items():
            jax.config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def _trace(function: Any, inputs: tuple[TensorInfo, ...], folder: Path) -> Any:
    import jax

    specs = [jax.ShapeDtypeStruct(info.shape, info.dtype.numpy) for info in inputs]
    try:
        with quiet.python():
            traced = function.trace(*specs)
    except Exception as error:
        raise BmcError(
            "export-rejected",
            f"JAX cannot trace the model: {factory.first_line(error)}",
            where=factory.model_line(error, folder),
            hint="a model must be traceable with fixed shapes, without branches on array values",
        ) from error
    for info, taken in zip(inputs, traced.in_avals[0], strict=True):
        if taken.dtype != info.dtype.numpy:
            raise BmcError(
                "unsupported-dtype",
                f"input {info.describe()} would become {taken.dtype.name}: JAX has 64-bit types"
                " switched off",
                hint='call jax.config.update("jax_enable_x64", True) in the model file',
            )
    return traced


def _run(function: Any, case: spec.Case, folder: Path) -> spec.Case:
    import jax

    try:
        with quiet.python():
            result = function(*map(jax.numpy.array, case))
            return tuple(np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(result))
    except Exception as error:
        raise BmcError(
            "model-failed",
            f"the model raised {type(error).__name__}: {factory.first_line(error)}",
            where=factory.model_line(error, folder),
        ) from error


def _keys(result: Any) -> tuple[str, ...]:
    """Names of the outputs if the function returns a dict, otherwise ()."""
    import jax

    if not isinstance(result, dict):
        return ()
    leaves, _ = jax.tree_util.tree_flatten_with_path(result)
    return tuple(jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves)


def _constants(function: Callable[..., Any], traced: Any) -> dict[str, Array]:
    """Returns the arrays that the function uses, by the names of what it closes over."""
    named = {artifacts.sha256(array.tobytes()): name for name, array in _closed_over(function)}
    found: dict[str, Array] = {}
    for constant in _used(traced.jaxpr):
        array = np.asarray(constant)
        name = named.get(artifacts.sha256(array.tobytes()), f"constant{len(found)}")
        found[name] = array
    return found


def _used(jaxpr: Any) -> Iterator[Any]:
    """Yields the constants of a closed jaxpr and of the functions, loops and branches in it."""
    yield from jaxpr.consts
    for equation in jaxpr.jaxpr.eqns:
        for value in equation.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                if hasattr(inner, "consts") and hasattr(inner, "jaxpr"):
                    yield from _used(inner)


def _closed_over(function: Any) -> Iterator[tuple[str, Array]]:
    if isinstance(function, functools.partial):
        bound = inspect.signature(function.func).bind_partial(*function.args, **function.keywords)
        yield from _leaves("", bound.arguments)
        function = function.func
    function = inspect.unwrap(function)
    if inspect.isfunction(function):
        variables = inspect.getclosurevars(function)
        for name, value in {**variables.globals, **variables.nonlocals}.items():
            yield from _leaves(name, value)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Array]]:
    import jax

    for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
        # A list of arrays may still hold tracers from when the function was traced.
        if isinstance(leaf, (jax.Array, np.ndarray)) and not isinstance(leaf, jax.core.Tracer):
            key = jax.tree_util.keystr(path, simple=True, separator=".")
            yield ".".join(part for part in (name, key) if part), np.asarray(leaf)


def _export(function: Any, traced: Any, inputs: tuple[TensorInfo, ...], path: Path) -> None:
    """Writes the function as `main`; raises BmcError if it cannot be exported."""
    import jax
    from jax.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    rules = jax_own.rules()
    specs = [jax.ShapeDtypeStruct(info.shape, info.dtype.numpy) for info in inputs]
    with quiet.python():
        lowered = traced.lower(
            lowering_platforms=("cpu",),
            _private_parameters=mlir.LoweringParameters(override_lowering_rules=rules),
        )
        module = lowered.compiler_ir("stablehlo")
    calls: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name == "stablehlo.custom_call":
            calls.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if calls:
        line = _MODEL_LINE.search(str(calls[0].location))
        name = _PRIMITIVE.search(str(calls[0].location))
        target = ir.StringAttr(calls[0].attributes["call_target_name"]).value
        primitive = name[1] if name else target
        library = "Python" if "callback" in primitive else "a library of its own"
        raise BmcError(
            "op-rejected",
            f"JAX computes '{primitive}' in {library}, which the target does not have",
            where=f"{line[1]}:{line[2]}" if line else "",
            hint=_OTHER_OPS,
        )
    try:
        with quiet.python():
            exported = jax.export.export(
                function, platforms=("cpu",), _override_lowering_rules=rules
            )(*specs)
    except Exception as error:
        raise BmcError(
            "export-rejected",
            f"jax.export cannot export the model: {factory.first_line(error)}",
            hint=_OTHER_OPS,
        ) from error
    # Not as the portable artifact that it is: rewrites know StableHLO's operations, and not those of its versions.
    with ir.Context() as context:
        stablehlo.register_dialect(context)
        module = stablehlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)
        with path.open("wb") as file:
            module.operation.write_bytecode(file)
