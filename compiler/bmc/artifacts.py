"""What the import step hands to the compile step, and how it lies on disk.

An import directory holds model.mlirbc (function `main`), cases.npz (golden data) and import.json.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bmc import spec
from bmc.dtype import Array, DType
from bmc.errors import BmcError

MODEL_FILE = "model.mlirbc"
CASES_FILE = "cases.npz"
IMPORT_FILE = "import.json"
FORMAT_VERSION = 2

# Where expected outputs came from.
GOLDEN_FRAMEWORK = "framework"
GOLDEN_IREE_HOST = "iree-host"


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Name, element type and static shape of a model input or output."""

    name: str
    dtype: DType
    shape: tuple[int, ...]

    @property
    def byte_count(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.byte_count

    def describe(self) -> str:
        return f"{self.name}: {'x'.join(map(str, (*self.shape, self.dtype.name.lower())))}"


@dataclass(frozen=True)
class Golden:
    """Inputs and what the model must answer.

    Attributes:
      inputs: per case, one array per model input.
      outputs: per case, one array per model output.
      policies: one per output.
      labels: class per case or None.
      framework_correct: cases whose argmax of output 0 equals the label, by the expected outputs.
      source: GOLDEN_FRAMEWORK or GOLDEN_IREE_HOST.
    """

    inputs: tuple[spec.Case, ...]
    outputs: tuple[spec.Case, ...]
    policies: tuple[spec.Policy, ...]
    labels: tuple[int, ...] | None
    framework_correct: int
    source: str


@dataclass(frozen=True)
class Parameter:
    """A weight as the framework calls it; the hash is over its contiguous bytes."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    sha256: str


@dataclass(frozen=True)
class ImportedModel:
    """An imported model.

    Attributes:
      mlir: path of model.mlirbc.
      source: what was imported, without folders: "model.py:make" or "matmul.mlir".
      frontend: "torch" or "mlir".
      versions: versions of the packages the frontend used.
      inputs, outputs: the signature of `main`.
      golden: the data the compiled model is checked on.
      parameters: the framework's weights, to name constants in reports.
      second_reference: one sentence, whether IREE's host runtime agrees with the golden data; it
        tells where to look when the target does not.
    """

    mlir: Path
    source: str
    frontend: str
    versions: dict[str, str]
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    golden: Golden
    parameters: tuple[Parameter, ...]
    second_reference: str = ""


def sha256(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def save(model: ImportedModel, directory: Path) -> None:
    """Writes cases.npz and import.json beside model.mlirbc."""
    golden = model.golden
    arrays: dict[str, Array] = {}
    for case, (inputs, outputs) in enumerate(zip(golden.inputs, golden.outputs, strict=True)):
        arrays |= {f"in{i}_{case}": array for i, array in enumerate(inputs)}
        arrays |= {f"out{i}_{case}": array for i, array in enumerate(outputs)}
    # numpy stamps every member of the zip file with 1980-01-01, so equal data gives equal bytes.
    np.savez(directory / CASES_FILE, **arrays)  # type: ignore[arg-type]
    write_json(
        directory / IMPORT_FILE,
        {
            "format_version": FORMAT_VERSION,
            "source": model.source,
            "frontend": model.frontend,
            "versions": model.versions,
            "inputs": [_tensor_to_json(info) for info in model.inputs],
            "outputs": [_tensor_to_json(info) for info in model.outputs],
            "case_count": len(golden.inputs),
            "policies": [_policy_to_json(policy) for policy in golden.policies],
            "labels": golden.labels,
            "framework_correct": golden.framework_correct,
            "golden_source": golden.source,
            "second_reference": model.second_reference,
            "parameters": [asdict(parameter) for parameter in model.parameters],
        },
    )


def load(directory: Path) -> ImportedModel:
    """Reads an import directory; raises BmcError if it is not one."""
    path = directory / IMPORT_FILE
    if not path.is_file():
        raise BmcError(
            "not-an-import",
            f"'{directory}' has no {IMPORT_FILE}",
            hint="make it with `bmc import SRC --out DIR`",
        )
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["format_version"] != FORMAT_VERSION:
        raise BmcError(
            "not-an-import",
            f"'{directory}' was made by another version of bmc",
            hint="import it again",
        )
    inputs = tuple(_tensor_from_json(item) for item in data["inputs"])
    outputs = tuple(_tensor_from_json(item) for item in data["outputs"])
    with np.load(directory / CASES_FILE) as arrays:
        golden = Golden(
            inputs=tuple(
                tuple(arrays[f"in{i}_{case}"] for i in range(len(inputs)))
                for case in range(data["case_count"])
            ),
            outputs=tuple(
                tuple(arrays[f"out{i}_{case}"] for i in range(len(outputs)))
                for case in range(data["case_count"])
            ),
            policies=tuple(_policy_from_json(item) for item in data["policies"]),
            labels=None if data["labels"] is None else tuple(data["labels"]),
            framework_correct=data["framework_correct"],
            source=data["golden_source"],
        )
    return ImportedModel(
        mlir=directory / MODEL_FILE,
        source=data["source"],
        frontend=data["frontend"],
        versions=data["versions"],
        inputs=inputs,
        outputs=outputs,
        golden=golden,
        parameters=tuple(
            Parameter(item["name"], tuple(item["shape"]), item["dtype"], item["sha256"])
            for item in data["parameters"]
        ),
        second_reference=data["second_reference"],
    )


def _tensor_to_json(info: TensorInfo) -> dict[str, Any]:
    return {"name": info.name, "dtype": info.dtype.name, "shape": info.shape}


def _tensor_from_json(item: dict[str, Any]) -> TensorInfo:
    return TensorInfo(item["name"], DType[item["dtype"]], tuple(item["shape"]))


def _policy_to_json(policy: spec.Policy) -> dict[str, Any]:
    return {"kind": type(policy).__name__, **asdict(policy)}


def _policy_from_json(item: dict[str, Any]) -> spec.Policy:
    fields = {key: value for key, value in item.items() if key != "kind"}
    if item["kind"] == "Tolerance":
        return spec.Tolerance(**fields)
    return spec.IntStep(**fields) if item["kind"] == "IntStep" else spec.Exact()
