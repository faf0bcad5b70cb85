"""`bmc inspect`: shows report.json as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bmc import artifacts, json_shapes
from bmc.errors import BmcError
from bmc.json_shapes import Shape

Report = dict[str, Any]

# What commands read of a report.
_TENSOR = {"name": str, "dtype": str, "shape": [int], "offset": int}
_INT8 = {
    "integer_dispatches": [str],
    "float_parts": {str: str},
    "int8_weight_bytes": int,
    "other_weight_bytes": int,
    "note": str,
}
_DISPATCH = {
    **dict.fromkeys(("ordinal", "uses", "bindings", "constants"), int),
    **dict.fromkeys(("name", "op", "root", "tiles_by"), str),
    **dict.fromkeys(("tiles", "iree_tiles"), {str: [int]}),
    **dict.fromkeys(("own_kernel", "tuned", "stale"), bool),
}
_SHOWN = {
    "name": str,
    "isa": str,
    "flash": {"kernels_bytes": int, "weights_bytes": int, "plan_bytes": int},
    "arena": {"bytes": int, "liveness_bound_bytes": int},
    "commands": [object],
    "entries": [{"name": str, "inputs": [_TENSOR], "outputs": [_TENSOR]}],
    "dispatches": [_DISPATCH],
    "golden": {"second_reference": str},
    "int8": (_INT8, type(None)),
}


def read(path: Path, shape: Shape) -> Report:
    """Reads what `bmc compile` wrote of a model, given report.json or its folder.

    Raises:
      BmcError: there is no report, or it lacks what `shape` has.
    """
    report, *others = read_all(path, shape)
    if others:
        raise BmcError("bad-report", f"'{path}' is not a report from `bmc compile`")
    return report


def read_all(path: Path, shape: Shape = _SHOWN) -> list[Report]:
    """Reads the report of every model in a file, or in the report.json of a folder.

    The file is what `bmc compile` wrote, or the X.report.json of an image. Its texts are safe to print.

    Raises:
      BmcError: there is no report, or one lacks what `shape` has.
    """
    file = path / "report.json" if path.is_dir() else path
    if not file.is_file():
        raise BmcError(
            "file-missing", f"'{path}' contains no report.json", hint="`bmc compile` writes it"
        )
    try:
        report = artifacts.printable(json.loads(file.read_text(encoding="utf-8")))
    except (RecursionError, ValueError):
        report = None
    models = report.get("models", [report]) if isinstance(report, dict) else None
    if not isinstance(models, list) or not models or not all(map(_is_model, models)):
        raise BmcError("bad-report", f"'{file}' is not a report of a compiled model or of an image")
    for model in models:
        if wrong := json_shapes.misfit(model, shape):
            raise BmcError(
                "bad-report",
                f"'{file}' is not a report of this version of bmc: {wrong} is missing or not what bmc writes",
                hint="compile the model again",
            )
    return models


def _is_model(data: Any) -> bool:
    return isinstance(data, dict) and "dispatches" in data


def summary(report: Report) -> list[str]:
    """Returns one line with the most important sizes."""
    flash, arena = report["flash"], report["arena"]
    return [
        f"{report['name']} for {report['isa']}: kernels {flash['kernels_bytes']:,} B,"
        f" weights {flash['weights_bytes']:,} B, plan {flash['plan_bytes']:,} B,"
        f" arena {arena['bytes']:,} B (bound {arena['liveness_bound_bytes']:,}),"
        f" {len(report['commands'])} commands"
    ]


def full(report: Report) -> list[str]:
    """Returns the sizes, the signature and the dispatch table."""
    lines = [*summary(report), ""]
    for entry in report["entries"]:
        if len(report["entries"]) > 1:
            lines.append(f"{entry['name']}:")
        lines += _tensors(entry)
    columns = ("ordinal", "uses", "bindings", "constants", "op")
    rows: list[tuple[str, ...]] = [columns]
    for dispatch in report["dispatches"]:
        rows.append(tuple(str(dispatch[column]) for column in columns))
    lines += ["", *_table(rows)]
    lines += ["", report["golden"]["second_reference"] + "."]
    if report["int8"]:
        lines += ["", *_int8(report["int8"])]
    return lines


def _tensors(entry: dict[str, Any]) -> list[str]:
    lines = []
    for role in ("inputs", "outputs"):
        for tensor in entry[role]:
            shape = "x".join(map(str, (*tensor["shape"], tensor["dtype"])))
            lines.append(f"{role[:-1]:<7} {tensor['name']}: {shape}, at {tensor['offset']:,}")
    return lines


def _int8(audit: dict[str, Any]) -> list[str]:
    return [
        f"int8: {len(audit['integer_dispatches'])} dispatches multiply in integers;"
        f" {audit['int8_weight_bytes']:,} B of weights are int8,"
        f" {audit['other_weight_bytes']:,} B are not",
        *(f"in floating point: {name}: {why}" for name, why in audit["float_parts"].items()),
        *([audit["note"]] if audit["note"] else []),
    ]


def configs(report: Report) -> list[str]:
    """Returns the tile sizes of every kernel. Keys and levels are those of tuning.json."""
    lines = [f"Tile sizes for {report['isa']}; a tuning.json may name the function or the op.", ""]
    for dispatch in report["dispatches"]:
        own = ", a kernel of bmc's own" if dispatch["own_kernel"] else ""
        if dispatch["tuned"]:
            own += ", as tuning.json has it"
        if dispatch["stale"]:
            own += ", whose entry there is stale"
        root = dispatch["root"] or "untiled"
        lines.append(f"{dispatch['name']}  (op {dispatch['op']}, {root}){own}")
        for level, sizes in dispatch["tiles"].items():
            default = dispatch["iree_tiles"].get(level)
            note = "" if sizes == default else f"  set by {dispatch['tiles_by']}, IREE: {default}"
            lines.append(f"    {level}: {sizes}{note}")
    return lines


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Right-aligns all columns but the last."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join([*(cell.rjust(w) for cell, w in zip(row[:-1], widths, strict=False)), row[-1]])
        for row in rows
    ]
