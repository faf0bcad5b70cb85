"""The import step's results, which the compile step reads, and their form on disk.

An import directory holds model.mlirbc (function `main`, or the entry points), cases.npz (golden data, and what only
the host compares) and import.json.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bmc import import_json, names, policies, spec
from bmc.dtype import Array, DType, loaded, why_unreadable
from bmc.errors import BmcError

MODEL_FILE = "model.mlirbc"
CASES_FILE = "cases.npz"
IMPORT_FILE = "import.json"
FORMAT_VERSION = 8

_MOST_BYTES = 1 << 40
_MOST_DIMENSIONS = 32

# The sources of expected outputs.
GOLDEN_FRAMEWORK = "framework"
GOLDEN_IREE_HOST = "iree-host"


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Name, element type and static shape of a model input or output.

    Raises:
      BmcError: no machine can hold a tensor of that shape.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.shape) > _MOST_DIMENSIONS:
            raise BmcError(
                "too-large",
                f"{self.name} has {len(self.shape)} dimensions: no more than {_MOST_DIMENSIONS}",
            )
        if min(self.shape, default=0) < 0 or self.byte_count > _MOST_BYTES:
            raise BmcError("too-large", f"no machine has a tensor such as {self.describe()}")

    @property
    def byte_count(self) -> int:
        return math.prod(self.shape) * self.dtype.byte_count

    def describe(self) -> str:
        return f"{self.name}: {'x'.join(map(str, (*self.shape, self.dtype.name.lower())))}"


@dataclass(frozen=True, slots=True)
class Signature:
    """An entry point of a model."""

    name: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]


@dataclass(frozen=True, slots=True)
class GoldenCall:
    """A case calls entry point number `entry`, after it resets the state if `reset` is set."""

    entry: int
    reset: bool


@dataclass(frozen=True)
class Golden:
    """Inputs, and the outputs that the model must compute from them.

    Attributes:
      inputs: for each case, one array per input.
      outputs: for each case, one array per output.
      policies: one per output, for all entry points in order.
      labels: class of each case, or None.
      framework_correct: number of cases whose argmax of the expected output 0 equals the label.
      source: GOLDEN_FRAMEWORK or GOLDEN_IREE_HOST.
      calls: the call of each case; () if all call the only entry point of a model without state.
    """

    inputs: tuple[spec.Case, ...]
    outputs: tuple[spec.Case, ...]
    policies: tuple[spec.Policy, ...]
    labels: tuple[int, ...] | None
    framework_correct: int
    source: str
    calls: tuple[GoldenCall, ...] = ()

    def first_of(self, entry: int) -> tuple[spec.Case, spec.Case]:
        """Returns the inputs and outputs of the first call of an entry point."""
        index = next((i for i, call in enumerate(self.calls) if call.entry == entry), 0)
        return self.inputs[index], self.outputs[index]

    def first(self, count: int) -> Golden:
        """Returns the first `count` cases, or all if there are no more; of fewer, no accuracy is known."""
        if count >= len(self.inputs):
            return self
        return replace(
            self,
            inputs=self.inputs[:count],
            outputs=self.outputs[:count],
            labels=None,
            framework_correct=0,
            calls=self.calls[:count],
        )


@dataclass(frozen=True)
class Parameter:
    """A weight under its name in the framework. The hash covers its contiguous bytes."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    sha256: str


@dataclass(frozen=True)
class Framework:
    """A model in its framework, to be asked about more inputs.

    Attributes:
      answers: for each entry point what returns the framework's outputs in the initial state; it raises BmcError if
        the framework refuses the inputs.
      ranges: as in ModelSpec.
    """

    answers: tuple[Callable[[spec.Case], spec.Case], ...]
    ranges: tuple[tuple[float, float] | None, ...]


@dataclass(frozen=True)
class ImportedModel:
    """An imported model.

    Attributes:
      mlir: path of model.mlirbc.
      source: the imported file without folders: "model.py:make" or "matmul.mlir".
      frontend: name of the frontend, such as "torch".
      versions: versions of the packages that the frontend used.
      signatures: the entry points; see main_signature().
      golden: the data on which the compiled model is checked.
      parameters: the framework's weights, which name constants in reports.
      second_reference: a sentence on a model with which IREE's host runtime agrees. It tells where to look
        if the target does not.
      int8: whether it is quantized. If so, its kernels must compute in integers (plan/audit.py).
      mixed: whether its file quantizes some products and not others, as its maker wanted.
      classes: the names of a classifier's classes. Its label is the place of one of them.
      f16: whether to compute in f16 what it computes in f32 (rewrites/quantization/half_precision.py).
      compared_only: more inputs of the first entry point, with the framework's outputs. They are only
        compared in IREE's host runtime. If the model has state, they are calls that follow the golden data's.
      made_up: the kinds of the last ones of `compared_only`, which are made up (samples.beside()). They are for the
        initial state.
      made_up_entries: the numbers of their entry points.
      framework: what to ask about made-up inputs, None if nothing is to be made up; it is not saved.
      in_f64: the first operation that the framework computes in f64, and where; it is not saved.
      notes: sentences that tell the user what the import did unasked; they are not saved.
    """

    mlir: Path
    source: str
    frontend: str
    versions: dict[str, str]
    signatures: tuple[Signature, ...]
    golden: Golden
    parameters: tuple[Parameter, ...]
    second_reference: str = ""
    int8: bool = False
    mixed: bool = False
    classes: tuple[str, ...] = ()
    f16: bool = False
    compared_only: tuple[tuple[spec.Case, spec.Case], ...] = ()
    made_up: tuple[str, ...] = ()
    made_up_entries: tuple[int, ...] = ()
    framework: Framework | None = None
    in_f64: str = ""
    notes: tuple[str, ...] = ()

    @property
    def computes_f64_as_f32(self) -> bool:
        """Whether something that the framework computes in f64 becomes f32: IREE keeps f64 if an input or output is."""
        tensors = [tensor for s in self.signatures for tensor in (*s.inputs, *s.outputs)]
        return bool(self.in_f64) and all(tensor.dtype is not DType.F64 for tensor in tensors)

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Inputs of the first entry point."""
        return self.signatures[0].inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Outputs of the first entry point."""
        return self.signatures[0].outputs


def main_signature(
    inputs: tuple[TensorInfo, ...], outputs: tuple[TensorInfo, ...]
) -> tuple[Signature, ...]:
    """Returns the entry points of a model with one function."""
    return (Signature("main", inputs, outputs),)


def sha256(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, data: Any) -> None:
    """Writes JSON in which all strings are safe to print."""
    text = json.dumps(printable(data), indent=1, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def printable(data: Any) -> Any:
    """Returns JSON data in which all strings are safe to print."""
    if isinstance(data, str):
        return names.printable(data)
    if isinstance(data, dict):
        return {printable(key): printable(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [printable(item) for item in data]
    return data


def save(model: ImportedModel, directory: Path) -> None:
    """Writes cases.npz and import.json beside model.mlirbc."""
    golden = model.golden
    arrays: dict[str, Array] = {}
    cases = (*zip(golden.inputs, golden.outputs, strict=True), *model.compared_only)
    for case, (inputs, outputs) in enumerate(cases):
        arrays |= {f"in{i}_{case}": array for i, array in enumerate(inputs)}
        arrays |= {f"out{i}_{case}": array for i, array in enumerate(outputs)}
    # NumPy dates every member of the zip file 1980-01-01, so equal data gives equal bytes.
    np.savez(directory / CASES_FILE, **arrays)  # type: ignore[arg-type]
    write_json(
        directory / IMPORT_FILE,
        {
            "format_version": FORMAT_VERSION,
            "source": model.source,
            "frontend": model.frontend,
            "versions": model.versions,
            "signatures": [_signature_to_json(signature) for signature in model.signatures],
            "case_count": len(golden.inputs),
            "compared_count": len(model.compared_only),
            "made_up": model.made_up,
            "made_up_entries": model.made_up_entries,
            "policies": [policies.to_json(policy) for policy in golden.policies],
            "labels": golden.labels,
            "framework_correct": golden.framework_correct,
            "golden_source": golden.source,
            "calls": [asdict(call) for call in golden.calls],
            "second_reference": model.second_reference,
            "int8": model.int8,
            "mixed": model.mixed,
            "classes": model.classes,
            "f16": model.f16,
            "parameters": [asdict(parameter) for parameter in model.parameters],
        },
    )


def load(directory: Path, *, compared: bool = False) -> ImportedModel:
    """Reads an import directory, with `compared_only` if `compared` is set; raises BmcError if it is not one."""
    data = import_json.read(directory / IMPORT_FILE, FORMAT_VERSION)
    for file in (directory / MODEL_FILE, directory / CASES_FILE):
        # The end of a FIFO may never come.
        if not file.is_file() or not file.stat().st_size:
            raise import_json.damaged(directory, f"{file.name} is missing, empty or no file")
    try:
        with np.load(directory / CASES_FILE) as arrays:
            return _read(directory, data, arrays, compared)
    except BmcError as error:
        raise import_json.damaged(directory, error.message) from error
    except MemoryError:
        raise
    except Exception as error:  # Whatever a damaged archive makes zipfile, zlib and NumPy raise.
        raise import_json.damaged(directory, why_unreadable(error)) from error


def _read(
    directory: Path, data: dict[str, Any], arrays: Mapping[str, Array], compared: bool
) -> ImportedModel:
    signatures = tuple(_signature_from_json(item) for item in data["signatures"])
    called = [signatures[entry] for entry in import_json.entries(data)]
    outputs = [info for signature in signatures for info in signature.outputs]
    expected = {
        f"{kind}{i}_{case}": info
        for case, signature in enumerate(called)
        for kind, infos in (("in", signature.inputs), ("out", signature.outputs))
        for i, info in enumerate(infos)
    }
    if set(arrays) != set(expected):
        raise ValueError(f"{CASES_FILE} has other cases than {IMPORT_FILE} says")

    def array(name: str) -> Array:
        found, info = loaded(arrays[name]), expected[name]
        if (found.shape, found.dtype) != (info.shape, info.dtype.numpy):
            raise ValueError(f"{name} of {CASES_FILE} is not {info.describe()}")
        return found

    cases = [
        (
            tuple(array(f"in{i}_{case}") for i in range(len(signature.inputs))),
            tuple(array(f"out{i}_{case}") for i in range(len(signature.outputs))),
        )
        for case, signature in enumerate(called if compared else called[: data["case_count"]])
    ]
    carried = cases[: data["case_count"]]
    golden = Golden(
        inputs=tuple(inputs for inputs, _ in carried),
        outputs=tuple(outputs for _, outputs in carried),
        policies=tuple(
            policies.from_json(item, info.dtype, info.describe())
            for item, info in zip(data["policies"], outputs, strict=True)
        ),
        labels=None if data["labels"] is None else tuple(data["labels"]),
        framework_correct=data["framework_correct"],
        source=data["golden_source"],
        calls=tuple(GoldenCall(item["entry"], item["reset"]) for item in data["calls"]),
    )
    return ImportedModel(
        mlir=directory / MODEL_FILE,
        source=data["source"],
        frontend=data["frontend"],
        versions=data["versions"],
        signatures=signatures,
        golden=golden,
        parameters=tuple(
            Parameter(item["name"], tuple(item["shape"]), item["dtype"], item["sha256"])
            for item in data["parameters"]
        ),
        second_reference=data["second_reference"],
        int8=data["int8"],
        mixed=data["mixed"],
        classes=tuple(data["classes"]),
        f16=data["f16"],
        compared_only=tuple(cases[len(carried) :]),
        made_up=tuple(data["made_up"]) if compared else (),
        made_up_entries=tuple(data["made_up_entries"]) if compared else (),
    )


def _tensor_to_json(info: TensorInfo) -> dict[str, Any]:
    return {"name": info.name, "dtype": info.dtype.name, "shape": info.shape}


def _tensor_from_json(item: dict[str, Any]) -> TensorInfo:
    return TensorInfo(item["name"], DType[item["dtype"]], tuple(item["shape"]))


def _signature_to_json(signature: Signature) -> dict[str, Any]:
    return {
        "name": signature.name,
        "inputs": [_tensor_to_json(info) for info in signature.inputs],
        "outputs": [_tensor_to_json(info) for info in signature.outputs],
    }


def _signature_from_json(item: dict[str, Any]) -> Signature:
    return Signature(
        item["name"],
        tuple(_tensor_from_json(info) for info in item["inputs"]),
        tuple(_tensor_from_json(info) for info in item["outputs"]),
    )
