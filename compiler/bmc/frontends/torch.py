"""Imports a PyTorch module with torch.export and torch-mlir, as StableHLO or linalg."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmc import artifacts, factory, golden, installing, progress, spec, spread, tolerances
from bmc.artifacts import Golden, ImportedModel, Parameter, Signature
from bmc.errors import BmcError
from bmc.frontends import (
    argument_names,
    largest_sizes,
    quiet,
    torch_export,
    torch_tensors,
    user_cases,
)
from bmc.frontends.options import INT4, INT4_INT8, ImportOptions

if TYPE_CHECKING:
    from bmc.frontends import torch_counts

# Layers that behave differently in training.
_TRAINS_OTHERWISE = re.compile("Dropout|BatchNorm|RReLU")

OUTPUT_TYPES = {"stablehlo": "stablehlo", "linalg": "linalg-on-tensors"}


def import_spec(
    model: spec.ModelSpec, source: str, options: ImportOptions, out: Path
) -> ImportedModel:
    """Imports the torch.nn.Module of a ModelSpec.

    Args:
      model: the factory's result.
      source: the file and its factory.
      options: the user's options; output_type is a key of OUTPUT_TYPES.
      out: import directory, which must exist.

    Raises:
      BmcError: a package is missing, or torch.export or torch-mlir rejects the model; the error names
        the op and the model line.
    """
    folder = factory.split(source)[0].parent
    is_packed = options.quantize in (INT4, INT4_INT8)
    try:
        import torch  # noqa: F401
        import torch_mlir  # noqa: F401

        if options.quantize and not is_packed:
            with quiet.python():
                from bmc.frontends import torch_quantize  # noqa: F401
    except ImportError as error:
        raise BmcError(
            "torch-missing",
            f"importing a PyTorch model needs the package {error.name}",
            hint=installing.hint(
                "torch", "torch-mlir", *(("torchao",) if options.quantize else ())
            ),
        ) from None
    if is_packed:
        from bmc.frontends import torch_int4

        progress.begin(progress.QUANTIZE)
        module = torch_int4.packed(model.module, options.quantize == INT4_INT8)
        model, options = replace(model, module=module), replace(options, quantize="")
    with _evaluating(model.module) as notes:
        bound = None
        try:
            signatures, data, weights, in_f64 = _export(model, options, folder, out, None)
        except BmcError as error:
            bound = _bound(error, model, options)
            model = _counted(model, bound, folder)
            signatures, data, weights, in_f64 = _export(model, options, folder, out, bound)
            notes = (*notes, *bound.notes(model.output_names))
    packages = ("torch", "torch-mlir", *(("torchao",) if options.quantize else ()))
    return ImportedModel(
        mlir=out / artifacts.MODEL_FILE,
        source=f"{factory.split(source)[0].name}:{factory.split(source)[1]}",
        frontend="torch",
        versions={name: importlib.metadata.version(name) for name in packages},
        signatures=signatures,
        golden=data,
        parameters=_parameters(weights),
        notes=notes,
        in_f64=in_f64,
        framework=artifacts.Framework(_answers(model, folder, signatures, bound), model.ranges),
    )


def _bound(error: BmcError, model: spec.ModelSpec, options: ImportOptions) -> torch_counts.Bounded:
    """Returns the model with outputs of fixed sizes; raises the error again if that is impossible."""
    if error.kind in ("dynamic-shape", "bad-spec") and not model.calls and not options.quantize:
        from bmc.frontends import torch_counts

        example = tuple(torch_tensors.tensor(array) for array in model.cases[0])
        if bound := torch_counts.bounded(model.module, example):
            return bound
    raise error


def _counted(model: spec.ModelSpec, bound: torch_counts.Bounded, folder: Path) -> spec.ModelSpec:
    """Returns the ModelSpec with tolerances for counts, and names of all outputs."""
    own = run(model.module, model.cases[0], folder)
    names = [info.name for info in golden.infos(own, model.output_names, "output")]
    for place in bound.counted:
        names.append(largest_sizes.free(f"{names[place]}_count", names))
    judged = largest_sizes.judged(model, len(own), tuple(names)) if model.tolerance else model
    return replace(judged, output_names=tuple(names))


def _answers(
    model: spec.ModelSpec,
    folder: Path,
    signatures: tuple[Signature, ...],
    bound: torch_counts.Bounded | None,
) -> tuple[Callable[[spec.Case], spec.Case], ...]:
    def answer(entry: str, case: spec.Case) -> spec.Case:
        with _evaluating(model.module):
            if not model.calls:
                return _run(model.module, case, folder, bound)
            from bmc.frontends import torch_entries

            return torch_entries.answer(model.module, entry, case, folder)

    return tuple(functools.partial(answer, signature.name) for signature in signatures)


@contextlib.contextmanager
def _evaluating(module: Any) -> Iterator[tuple[str, ...]]:
    """Puts a module into evaluation mode for a block, since the module may also be used elsewhere.

    One from torch.compile runs what it would compile, because compiled arithmetic is that of the machine. Yields notes
    for the user.
    """
    import torch

    training = [part for part in module.modules() if part.training]
    notes = _train_mode(module)
    try:
        module.eval()
    except NotImplementedError:  # The export of an exported program has fixed its mode.
        notes = ()
    try:
        with torch.compiler.set_stance("force_eager"):
            yield notes
    finally:
        for part in training:
            part.training = True


def _export(
    model: spec.ModelSpec,
    options: ImportOptions,
    folder: Path,
    out: Path,
    bound: torch_counts.Bounded | None,
) -> tuple[tuple[Signature, ...], Golden, dict[str, Any], str]:
    """Writes model.mlirbc; returns its functions, their golden data, tensors by name and what is in f64."""
    module = model.module
    _check_weights(module)
    output_type = OUTPUT_TYPES[options.output_type]
    if model.calls:
        from bmc.frontends import torch_entries

        calls = user_cases.of_calls(model, options)
        return torch_entries.export(
            module, model, calls, output_type, folder, out, bool(options.quantize)
        )
    if options.quantize:
        from bmc.frontends import torch_quantize

        progress.begin(progress.QUANTIZE)
        module = torch_quantize.quantize_forward(module, model, folder)
        output_type = torch_quantize.OUTPUT_TYPE
    signatures, data, in_f64 = _export_forward(module, model, output_type, folder, out, bound)
    if options.quantize:
        progress.begin(progress.CONVERT)
        torch_quantize.lower(out / artifacts.MODEL_FILE, out / "reproducer")
    return signatures, data, torch_export.tensors(module), in_f64


def _export_forward(
    module: Any,
    model: spec.ModelSpec,
    output_type: str,
    folder: Path,
    out: Path,
    bound: torch_counts.Bounded | None,
) -> tuple[tuple[Signature, ...], Golden, str]:
    """Runs the cases in PyTorch and writes model.mlirbc with forward() as its only function.

    Returns that function, the golden data and what is computed in f64.
    """

    inputs = argument_names.inputs(model)
    progress.begin(progress.GOLDEN)
    expected = tuple(_run(module, case, folder, bound) for case in model.cases)
    outputs = golden.infos(expected[0], model.output_names, "output")
    data = golden.make(
        inputs=model.cases,
        outputs=expected,
        input_infos=inputs,
        output_infos=outputs,
        tolerance=model.tolerance or tolerances.default(outputs, expected),
        labels=model.labels,
        source=artifacts.GOLDEN_FRAMEWORK,
    )
    progress.begin(progress.EXPORT)
    exported = torch_export.export(
        bound.module if bound else module,
        tuple(torch_tensors.tensor(array) for array in model.cases[0]),
        output_type,
        folder.absolute(),
        out / artifacts.MODEL_FILE,
        out / "reproducer",
    )
    if not model.tolerance:
        apart = spread.of("torch", exported.ops)
        data = replace(data, policies=tolerances.default(outputs, expected, apart))
    return artifacts.main_signature(inputs, outputs), data, exported.in_f64


def _run(
    module: Any, case: spec.Case, folder: Path, bound: torch_counts.Bounded | None
) -> spec.Case:
    """Returns PyTorch's outputs, those of no fixed size with zeros behind them and counts. Raises what run() does."""
    outputs = run(module, case, folder)
    return bound.padded(outputs) if bound else outputs


def _train_mode(module: Any) -> tuple[str, ...]:
    """Returns a note for the user if the module is still in training mode."""
    training = {name: part for name, part in module.named_modules() if part.training}
    if not training:
        return ()
    other = [
        f"'{name or type(part).__name__}' ({type(part).__name__})"
        for name, part in training.items()
        if _TRAINS_OTHERWISE.search(type(part).__name__)
    ]
    what = f" In training, its {', '.join(other[:3])} would behave differently." if other else ""
    return (
        f"module '{type(module).__name__}' was in training mode: bmc called eval() before it ran and"
        f" imported the module.{what}",
    )


def run(module: Any, case: spec.Case, folder: Path) -> spec.Case:
    """Returns PyTorch's outputs; raises BmcError naming the line in `folder` that failed."""
    import torch

    try:
        with torch.no_grad():
            result = module(*(torch_tensors.tensor(array) for array in case))
    except Exception as error:
        raise BmcError(
            "model-failed",
            f"the model's forward raised {type(error).__name__}: {factory.first_line(error)}",
            where=factory.model_line(error, folder),
        ) from error
    return torch_export.arrays(result)


def _check_weights(module: Any) -> None:
    for name, tensor in torch_export.tensors(module).items():
        if tensor.is_floating_point():
            golden.check_finite(name, tensor.detach().float().numpy())


def _parameters(weights: dict[str, Any]) -> tuple[Parameter, ...]:
    """Returns the parameters sorted by name. Tied weights appear once, under their first name."""
    import torch

    found: dict[int, Parameter] = {}
    for name, tensor in weights.items():
        array = tensor.detach().contiguous()
        data = array.reshape(-1).view(torch.uint8).numpy() if array.numel() else array.numpy()
        found.setdefault(
            tensor.data_ptr() or id(tensor),
            Parameter(
                name,
                tuple(tensor.shape),
                str(tensor.dtype).removeprefix("torch."),
                artifacts.sha256(data.data),
            ),
        )
    return tuple(sorted(found.values(), key=lambda parameter: parameter.name))
