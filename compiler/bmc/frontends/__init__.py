"""One module per framework. import_model() picks one by the kind of file or by the factory's result."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bmc import (
    arithmetic,
    artifacts,
    factory,
    intake,
    progress,
    spec,
    supervisor,
    tolerances,
    verify,
)
from bmc.artifacts import ImportedModel
from bmc.errors import BmcError
from bmc.frontends import doubles, made_up, quantized, quiet, user_cases
from bmc.frontends.options import F16, INT4, INT4_INT8, INT8, ImportOptions
from bmc.frontends.survey import Survey

KINDS = (
    "model.py:factory (PyTorch, Keras, JAX), or a .pt2, .keras, .tflite, .onnx, .gguf, .mlir or"
    " .mlirbc file or a SavedModel folder"
)

# Adds to an imported model.
Finish = Callable[[ImportedModel, ImportOptions], ImportedModel]

# Frontend -> module with survey_file(path, options), if that is another one.
_SURVEYS = {"onnx": "onnx_survey", "tflite": "tflite_survey"}
# Kind of file -> frontend. Each frontend has import_file(path, options, out).
_OF_SUFFIX = {
    ".gguf": "gguf",
    ".keras": "keras",
    ".mlir": "mlir",
    ".mlirbc": "mlir",
    ".onnx": "onnx",
    ".pt2": "torch_program",
    ".tflite": "tflite",
}
# Package of ModelSpec.module's class or base classes -> frontend. Each frontend has
# import_spec(model, source, options, out).
_OF_PACKAGE = {"keras": "keras", "tensorflow": "keras", "torch": "torch"}


def import_model(source: str, options: ImportOptions, out: Path) -> ImportedModel:
    """Imports `source` into the folder `out`, creates that folder, and writes import.json there, last.

    Args:
      source: a model, see KINDS.
      options: the user's options.
      out: import directory.

    Raises:
      BmcError: the kind of file is unknown, the frontend or IREE rejects the model, or IREE computes
        other results than the framework.
    """
    is_f16 = options.quantize == F16
    progress.begin(progress.LOAD)
    with limited(source, options), arithmetic.pinning():
        model = converted(source, options, out, _with_made_up)
        checks: tuple[verify.OutputCheck, ...] = ()
        if options.host_check:
            progress.begin(progress.HOST_CHECK)
            checks = verify.run(model, out / "reproducer")
            verify.require(model, checks)
        model = doubles.noted(model, checks)
    model = replace(model, second_reference=verify.verdict(model))
    if is_f16:
        model = _in_f16(model)
    artifacts.save(model, out)
    return model


def converted(
    source: str, options: ImportOptions, out: Path, finish: Finish = lambda model, _: model
) -> ImportedModel:
    """Does what import_model() does, except for the limits, the comparison with IREE and the new import.json.

    Args:
      source, options, out: as for import_model().
      finish: adds to a model while its framework is at hand.
    """
    if options.quantize == F16:
        options = replace(options, quantize="")  # the framework's model stays as it is
    with quiet.native(), quiet.advice():
        model = _import(source, options, out, finish)
    tolerances.require_meaning(model.golden, model.signatures)
    notes = tolerances.cases_not_told_from_zeros(model.golden, model.signatures)
    kinds = quantized.kinds(model.mlir)
    int8 = options.quantize == INT8 or quantized.is_quantized(kinds)
    mixed = model.mixed or (not options.quantize and quantized.is_mixed(kinds))
    return replace(model, int8=int8, mixed=mixed, notes=(*model.notes, *notes))


def survey_model(source: str, options: ImportOptions) -> Survey:
    """Returns what a model file says of itself; that of a factory, which is code, says nothing.

    Raises:
      BmcError: the file cannot be read.
    """
    path = Path(os.path.abspath(source))
    if _is_factory(source, path):
        return Survey()
    with quiet.native(), quiet.advice():
        frontend = _frontend_of_file(source, path)
        module = importlib.import_module(f"bmc.frontends.{_SURVEYS.get(frontend, frontend)}")
        of_file: Callable[[Path, ImportOptions], Survey] = getattr(module, "survey_file", _nothing)
        return of_file(path, options)


def _nothing(_path: Path, _options: ImportOptions) -> Survey:
    return Survey()


def limited(source: str, options: ImportOptions) -> contextlib.AbstractContextManager[None]:
    """Limits the import of a file; a factory is code, which may train a model first."""
    if Path(source.rpartition(":")[0]).suffix == ".py":
        return contextlib.nullcontext()
    return supervisor.limited(Path(source).name, options.limits)


def _in_f16(model: ImportedModel) -> ImportedModel:
    """Returns a model that is to compute in f16, with tolerances for that."""
    if model.int8:
        raise BmcError(
            "bad-spec",
            "the model is quantized to int8, and is asked to compute in f16",
            hint="leave out quantize, or give the model in f32",
        )
    golden = replace(model.golden, policies=tolerances.of_f16(model.golden, model.signatures))
    return replace(model, golden=golden, f16=True)


def _import(source: str, options: ImportOptions, out: Path, finish: Finish) -> ImportedModel:
    # Made absolute because the folder `.` has a name too.
    path = Path(os.path.abspath(source))
    if _is_factory(source, path):
        return _import_factory(source, options, out, finish)
    _check_options(source, "" if _is_saved_model(path) else path.suffix, options)
    _check_packed(source, "", options)
    import_file = _call(_frontend_of_file(source, path), "import_file")
    _empty(out)
    model = import_file(path, options, out)
    return model if _is_saved_model(path) else finish(model, options)


def _empty(out: Path) -> None:
    """Makes the folder, or one of an earlier import to one of none, once there is a model to import."""
    out.mkdir(parents=True, exist_ok=True)
    # Written last, so that it is never beside the files of another model or of a part of one.
    (out / artifacts.IMPORT_FILE).unlink(missing_ok=True)


def _is_saved_model(path: Path) -> bool:
    return (path / "saved_model.pb").is_file()  # which may be called anything


def _is_factory(source: str, path: Path) -> bool:
    names_factory = not path.exists() and Path(source.rpartition(":")[0]).suffix == ".py"
    return not _is_saved_model(path) and (names_factory or path.suffix == ".py")


def _frontend_of_file(source: str, path: Path) -> str:
    if _is_saved_model(path):
        return "keras"
    if path.is_dir():
        raise BmcError(
            "unknown-kind", f"the folder '{source}' is not a SavedModel: it has no saved_model.pb"
        )
    frontend = _OF_SUFFIX.get(path.suffix)
    if frontend is None:
        raise BmcError(
            "unknown-kind", f"'{source}' is not a kind of model that bmc knows", hint=KINDS
        )
    if not path.is_file():
        raise BmcError("file-missing", f"model file '{source}' does not exist")
    return frontend


def _check_options(source: str, suffix: str, options: ImportOptions) -> None:
    """Refuses what is not for this kind of file."""
    if options.constants and suffix != ".onnx":
        raise BmcError(
            "bad-option",
            f"'{source}' is no .onnx file, of which alone an input can be a constant",
            hint="write a model.py whose forward() passes the value",
        )
    if options.context and suffix != ".gguf":
        raise BmcError(
            "bad-option",
            f"'{source}' is no .gguf file, of which alone the context has a length",
            hint="leave context out",
        )
    if options.shapes and suffix in (".mlir", ".mlirbc"):
        raise BmcError(
            "bad-option",
            f"shapes are given for '{source}', which has its own",
            hint="write them into the file",
        )


def _check_packed(source: str, frontend: str, options: ImportOptions) -> None:
    """Refuses weights of four bits where nothing makes them."""
    if options.quantize in (INT4, INT4_INT8) and frontend != "torch":
        raise BmcError(
            "bad-option",
            f"quantize is '{options.quantize}' for '{Path(source).name}', which is no model.py of a PyTorch module",
            hint="write a model.py, give a file whose weights have four bits, or quantize to int8",
        )


def _with_made_up(model: ImportedModel, options: ImportOptions) -> ImportedModel:
    # Whoever gives other inputs wants to know about these.
    return replace(model, framework=None) if options.inputs else made_up.added(model)


def _import_factory(
    source: str, options: ImportOptions, out: Path, finish: Finish
) -> ImportedModel:
    if options.shapes or options.constants or options.context:
        raise BmcError(
            "bad-option",
            f"shapes, constants or a context are given for '{Path(source).name}'",
            hint="they are for model files: the cases of a factory have shapes, and its model all else",
        )
    with factory.called(source, spec.ModelSpec) as given:
        model = user_cases.of_factory(intake.model_spec(given), options)
        frontend = _frontend_of(model)
        _check_packed(source, frontend, options)
        import_spec = _call(frontend, "import_spec")
        _empty(out)
        found = import_spec(model, source, options, out)
        return finish(found, options)


def _frontend_of(model: spec.ModelSpec) -> str:
    packages = {base.__module__.split(".")[0] for base in type(model.module).__mro__}
    is_tflite = isinstance(model.module, spec.ModelFile) and model.module.suffix == ".tflite"
    if model.calls and "torch" not in packages and not is_tflite:
        raise BmcError(
            "bad-spec",
            f"ModelSpec.calls is given for a {type(model.module).__name__}",
            hint="only a torch.nn.Module has entry points: give cases",
        )
    if isinstance(model.module, spec.ModelFile):
        frontend = _OF_SUFFIX.get(model.module.suffix)
        if frontend is None:
            raise BmcError(
                "unknown-kind", f"'{model.module.suffix}' is not a kind of model that bmc knows"
            )
        return frontend
    for package, frontend in _OF_PACKAGE.items():
        if package in packages:
            return frontend
    if callable(model.module):
        return "jax"
    raise BmcError(
        "bad-spec",
        f"ModelSpec.module is a {type(model.module).__name__}",
        hint="give a torch.nn.Module, a keras.Model, a function of jax arrays or a ModelFile",
    )


def _call(frontend: str, function: str) -> Callable[..., ImportedModel]:
    # Imported here, because each frontend needs its own framework and no other.
    module = importlib.import_module(f"bmc.frontends.{frontend}")
    found: Callable[..., ImportedModel] | None = getattr(module, function, None)
    if found is None:
        raise BmcError("unknown-kind", f"a factory cannot return this kind of model ({frontend})")
    return found
