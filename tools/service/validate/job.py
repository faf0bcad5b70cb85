"""What is sent to the target, and what should come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bmc import artifacts
from bmc.artifacts import GoldenCall, ImportedModel, Signature, TensorInfo
from bmc.dtype import Array
from bmc.report import Model
from tools.cli import UserError
from tools.report.files import load
from tools.service.validate import framework, samples

Case = tuple[Array, ...]


@dataclass(frozen=True)
class Job:
    """Calls of a model.

    Attributes:
      calls: the entry point of each call, and whether to reset the state before it.
      samples: the number of the sample that each call belongs to.
      inputs, want: for each call, one array per input or output.
      labels: the right class of each call, or None.
    """

    model: ImportedModel
    calls: tuple[GoldenCall, ...]
    samples: tuple[int, ...]
    inputs: tuple[Case, ...]
    want: tuple[Case, ...]
    labels: Array | None

    @property
    def unit(self) -> str:
        """What is counted: calls, if a sample has several."""
        return "samples" if len(set(self.samples)) == len(self.calls) else "calls"

    def signature(self, call: int) -> Signature:
        return self.model.signatures[self.calls[call].entry]


@dataclass(frozen=True)
class Options:
    """What the user gives.

    Attributes:
      entries: names of the entry points that a sample calls one after the other; none: the first one.
      count: the most samples to use; 0: all.
    """

    data: Path
    labels: Path | None
    expected: Path | None
    entries: tuple[str, ...]
    count: int


def read(chosen: dict[str, Any], options: Options) -> Job:
    """Reads the data, and has the framework compute what is not given.

    Args:
      chosen: what bm_validate writes about the model.

    Raises:
      UserError: the data do not fit the model, or the framework refuses them.
    """
    model = artifacts.load(Path(chosen["imported"]))
    numbers = [_entry(model, name) for name in options.entries] or [0]
    # Without state, a sample is one call.
    has_state = bool(load(Path(chosen["report"]), Model).state_bytes)
    sequences = has_state or len(numbers) > 1
    used = [model.signatures[number] for number in numbers]
    given = [(signature.name, signature.inputs) for signature in used]
    parts, labels = samples.read_parts(options.data, given, sequences)
    if options.labels:
        labels = samples.read_labels(options.labels, len(parts[0][0]))
    if options.count:
        parts = [[array[: options.count] for array in part] for part in parts]
        labels = None if labels is None else labels[: options.count]
    count = len(parts[0][0])
    steps = [part[0].shape[1] for part in parts]
    of_sample = tuple(
        GoldenCall(number, reset=has_state and part == 0 and step == 0)
        for part, number in enumerate(numbers)
        for step in range(steps[part])
    )
    calls = of_sample * count
    of = tuple(sample for sample in range(count) for _ in of_sample)
    if labels is not None and len(calls) != count:
        raise UserError(
            "labels are for one call per sample, and a sample has several: leave them out"
        )
    if labels is not None:
        labels = samples.check_classes(labels, used[0].outputs[0])
    if options.expected is None:
        answered = framework.answers(chosen["importer"], _files(model, parts, used))
        return Job(model, calls, of, answered.golden.inputs, answered.golden.outputs, labels)
    for signature, arrays in zip(used, parts, strict=True):
        _check_types(signature.inputs, arrays)
    expected = [(signature.name, signature.outputs) for signature in used]
    want, _ = samples.read_parts(options.expected, expected, sequences)
    _check_expected(options, want, count, steps)
    inputs = _in_order(parts, count)
    return Job(model, calls, of, inputs, _in_order(want, count), labels)


def _entry(model: ImportedModel, name: str) -> int:
    for number, signature in enumerate(model.signatures):
        if signature.name == name:
            return number
    names = ", ".join(signature.name for signature in model.signatures)
    raise UserError(f"the model has no entry point {name}: it has {names}")


def _files(
    model: ImportedModel, parts: Sequence[Sequence[Array]], used: Sequence[Signature]
) -> dict[str, Array]:
    """Returns the arrays as `bmc import --inputs` takes them."""
    if not model.golden.calls:
        return {str(i): array[:, 0] for i, array in enumerate(parts[0])}
    return {
        f"{part}.{signature.name}.{i}": array
        for part, (signature, arrays) in enumerate(zip(used, parts, strict=True))
        for i, array in enumerate(arrays)
    }


def _in_order(parts: Sequence[Sequence[Array]], count: int) -> tuple[Case, ...]:
    """Returns the arrays of each call."""
    return tuple(
        tuple(array[sample, step] for array in arrays)
        for sample in range(count)
        for arrays in parts
        for step in range(arrays[0].shape[1])
    )


def _check_types(infos: Sequence[TensorInfo], arrays: Sequence[Array]) -> None:
    for info, array in zip(infos, arrays, strict=True):
        if array.dtype != np.dtype(info.dtype.numpy):
            raise UserError(
                f"{info.name} is {array.dtype}, and the model takes {info.describe()}: without --expected,"
                " the framework quantizes it; with it, give what the model takes"
            )


def _check_expected(
    options: Options, want: Sequence[Sequence[Array]], count: int, steps: Sequence[int]
) -> None:
    found = len(want[0][0])
    if found < count:
        raise UserError(
            f"{options.expected} has {found} samples and {options.data} {count}: give the expected"
            " outputs of each"
        )
    if [part[0].shape[1] for part in want] != list(steps):
        raise UserError(
            f"{options.expected} has other numbers of steps than {options.data}: give the expected"
            " outputs of each step"
        )
