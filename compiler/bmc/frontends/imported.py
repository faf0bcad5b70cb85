"""Builds the ImportedModel of a model with one function, once its framework has computed the outputs."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bmc import artifacts, conditioning, golden, samples, spec, tolerances
from bmc.artifacts import ImportedModel, Parameter, TensorInfo
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
) -> ImportedModel:
    """Returns the model whose MLIR is in the import directory `out`.

    Args:
      model: gives the tolerance and labels, if it has cases; otherwise there are neither.
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
    """
    if not model.cases:
        policies = golden.policies_of(
            model.tolerance or tolerances.default(outputs, expected[:1], apart), outputs
        )
        cases, expected = samples.sensible(
            cases, expected, conditioning.judge(answer, outputs, policies)
        )
    result = ImportedModel(
        mlir=out / artifacts.MODEL_FILE,
        source=source,
        frontend=frontend,
        versions={name: importlib.metadata.version(name) for name in packages},
        signatures=artifacts.main_signature(inputs, outputs),
        golden=golden.make(
            inputs=cases,
            outputs=expected,
            input_infos=inputs,
            output_infos=outputs,
            tolerance=model.tolerance or tolerances.default(outputs, expected, apart),
            labels=model.labels,
            source=artifacts.GOLDEN_FRAMEWORK,
        ),
        parameters=tuple(
            Parameter(name, array.shape, array.dtype.name, artifacts.sha256(array.tobytes()))
            for name, array in sorted(weights.items())
        ),
        framework=artifacts.Framework(answer, model.ranges),
        in_f64=in_f64,
        mixed=mixed,
        classes=classes,
    )
    return result if model.cases else samples.carry_few(result)
