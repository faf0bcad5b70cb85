"""Reads import.json, which somebody else may have written, and checks that its parts go together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bmc import json_shapes
from bmc.errors import BmcError

_TENSORS = [{"name": str, "dtype": str, "shape": [int]}]
_SHAPE = {
    **dict.fromkeys(("source", "frontend", "golden_source", "second_reference"), str),
    **dict.fromkeys(("case_count", "compared_count", "framework_correct"), int),
    **dict.fromkeys(("int8", "mixed", "f16"), bool),
    **dict.fromkeys(("made_up", "classes"), [str]),
    "versions": {str: str},
    "signatures": [{"name": str, "inputs": _TENSORS, "outputs": _TENSORS}],
    "made_up_entries": [int],
    "policies": [{"kind": str}],
    "labels": ([int], type(None)),
    "calls": [{"entry": int, "reset": bool}],
    "parameters": [{"name": str, "shape": [int], "dtype": str, "sha256": str}],
}

# What is counted may otherwise take all memory.
_MOST_CASES = 1 << 20


def read(path: Path, version: int) -> dict[str, Any]:
    """Returns the JSON; raises BmcError if the file is missing, of another format version, or damaged."""
    folder = path.parent
    if not path.is_file():
        raise BmcError(
            "not-an-import",
            f"'{folder}' has no {path.name}",
            hint="make it with `bmc import SRC --out DIR`",
        )
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise damaged(folder, f"{path.name} is nested too deeply") from None
    except ValueError as error:
        raise damaged(folder, f"{path.name} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise damaged(folder, f"{path.name} is not a JSON object")
    if data.get("format_version") != version:
        raise BmcError(
            "not-an-import",
            f"'{folder}' was made by another version of bmc",
            hint="import the model again",
        )
    if wrong := json_shapes.misfit(data, _SHAPE):
        raise damaged(folder, f"{wrong} of {path.name} is missing or not what bmc writes")
    if not _agrees(data):
        raise damaged(
            folder,
            f"the numbers of cases, tolerances and entry points in {path.name} contradict one another",
        )
    return data


def damaged(folder: Path, reason: str) -> BmcError:
    """Returns the error for an import directory that is not as bmc wrote it."""
    return BmcError(
        "not-an-import", f"'{folder}' is damaged: {reason}", hint="import the model again"
    )


def entries(data: dict[str, Any]) -> list[int]:
    """Returns the number of each case's entry point; the cases that are only compared come last."""
    called = [call["entry"] for call in data["calls"]] or [0] * data["case_count"]
    more = [0] * (data["compared_count"] - len(data["made_up_entries"]))
    return [*called, *more, *data["made_up_entries"]]


def _agrees(data: dict[str, Any]) -> bool:
    count, compared, labels = data["case_count"], data["compared_count"], data["labels"]
    signatures, made_up = data["signatures"], data["made_up_entries"]
    named = [0, *(call["entry"] for call in data["calls"]), *made_up]
    return (
        0 < count <= count + compared <= _MOST_CASES
        and len(data["calls"]) in (0, count)
        and len(made_up) == len(data["made_up"]) <= compared
        and all(0 <= entry < len(signatures) for entry in named)
        and (labels is None or len(labels) == count)
        and len(data["policies"]) == sum(len(signature["outputs"]) for signature in signatures)
    )
