"""Builds the ImportedModel of a model with one function, once its framework has computed the outputs."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bmc import artifacts, conditioning, golden, samples, spec, tolerances
from bmc.artifacts import GoldenCall, ImportedModel, Parameter, TensorInfo
from bmc.dtype import Array
from bmc.spread import NONE, Spread


def build(
    model: spec.ModelSpec,
    *,
    out: Path,
    source: str,
    frontend: str,
    packages: Sequence[str],
    inputs: tuple[TensorInfo, ...],
    outputs: tuple[TensorInfo, ...],
    cases: tuple[spec.Case, ...],
    expected: tuple[spec.Case, ...],
    weights: Mapping[str, Array],
    apart: Spread = NONE,
    in_f64: str = "",
    mixed: bool = False,
    classes: tuple[str, ...] = (),
    answer: Callable[[spec.Case], spec.Case],
    calls: tuple[GoldenCall, ...] = (),
) -> ImportedModel:
    """Returns the model whose MLIR is in the import directory `out`.

    Args:
      model: gives the tolerance and labels, if it has cases or calls; otherwise there are neither.
      out: import directory.
      source: name of the file, with the factory if there is one.
      frontend: name of the frontend.
      packages: packages whose versions are recorded.
      inputs, outputs: the model's signature.
      cases, expected: the framework's inputs and outputs.
      weights: arrays by the framework's names.
      apart: the spread of the framework's kernels for this model.
      in_f64, mixed, classes: as in ImportedModel.
      answer: returns the framework's outputs for more inputs.
      calls: the call of each case, if the model has state.
    """
    has_own = bool(model.cases or model.calls)
    if not has_own:
        policies = golden.policies_of(
            model.tolerance or tolerances.default(outputs, expected[:1], apart), outputs
        )
        is_steady = conditioning.judge(answer, outputs, policies)
        cases, expected = samples.sensible(
            cases, expected, None if calls else is_steady, in_a_row=bool(calls)
        )
    data = golden.make(
        inputs=cases,
        outputs=expected,
        input_infos=inputs,
        output_infos=outputs,
        tolerance=model.tolerance or tolerances.default(outputs, expected, apart),
        labels=model.labels,
        source=artifacts.GOLDEN_FRAMEWORK,
    )
    result = ImportedModel(
        mlir=out / artifacts.MODEL_FILE,
        source=source,
        frontend=frontend,
        versions={name: importlib.metadata.version(name) for name in packages},
        signatures=artifacts.main_signature(inputs, outputs),
        golden=replace(data, calls=calls[: len(data.inputs)]),
        parameters=tuple(
            Parameter(name, array.shape, array.dtype.name, artifacts.sha256(array.tobytes()))
            for name, array in sorted(weights.items())
        ),
        framework=None if calls else artifacts.Framework((answer,), model.ranges),
        in_f64=in_f64,
        mixed=mixed,
        classes=classes,
    )
    return result if has_own else samples.carry_few(result)
