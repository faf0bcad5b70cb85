"""Writes the JSON Schema of an image's report, which describes every field: `report_schema FILE`."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
import types
import typing
from pathlib import Path
from typing import Any

from bmc import records
from tools.report.report import Image

_SCALARS = {bool: "boolean", float: "number", int: "integer", str: "string"}


def schema() -> dict[str, Any]:
    """Returns the schema of an image's report."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The report of an image",
        **_of(Image),
    }


def _of(hint: Any) -> dict[str, Any]:
    """Returns the schema of a type. What is annotated are a description, and pairs that are in the schema as well."""
    if typing.get_origin(hint) is typing.Annotated:
        kind, *notes = typing.get_args(hint)
        pairs = [("description", note) if isinstance(note, str) else note for note in notes]
        return _of(kind) | dict(pairs)
    if records.is_record(hint):
        return _object(hint)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _one_of([each for each in inner if each is not type(None)], type(None) in inner)
    if origin is typing.Literal:
        return {"const": inner[0]}
    if origin is tuple:
        count = len(inner)
        exact = {} if inner[-1] is ... else {"minItems": count, "maxItems": count}
        return {"type": "array", "items": _of(inner[0]), **exact}
    if origin is dict:
        every = {} if inner[1] is Any else {"additionalProperties": _of(inner[1])}
        return {"type": "object", **every}
    # Nothing in a report is below zero.
    return {"type": _SCALARS[hint], **({"minimum": 0} if hint is int else {})}


def _object(kind: type) -> dict[str, Any]:
    fields = records.fields(kind, texts=True)
    return {
        "description": " ".join((inspect.getdoc(kind) or "").split()),
        "type": "object",
        "additionalProperties": False,
        "required": [f.key for f in fields if f.default is dataclasses.MISSING],
        "properties": {f.key: _of(_there(f.hint) if f.default is None else f.hint) for f in fields},
    }


def _there(hint: Any) -> Any:
    """Returns the type of a field that is left out instead of being null."""
    kind, *notes = typing.get_args(hint)
    (inner,) = (each for each in typing.get_args(kind) if each is not type(None))
    return typing.Annotated[(inner, *notes)]


def _one_of(kinds: list[Any], optional: bool) -> dict[str, Any]:
    if len(kinds) > 1:
        return {"anyOf": [_of(kind) for kind in kinds]}
    found = _of(kinds[0])
    return {**found, "type": [found["type"], "null"]} if optional else found


def main(args: list[str]) -> None:
    Path(args[0]).write_text(json.dumps(schema(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
