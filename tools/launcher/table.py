"""Reads third_party/versions.bzl, which is written so that Python can read it too."""

from __future__ import annotations

import ast
from importlib.resources.abc import Traversable
from typing import Any


def read_table(ironcast: Traversable, name: str) -> Any:
    """The value that versions.bzl of Ironcast's tree assigns to `name`; KeyError if there is none."""
    table = ironcast.joinpath("third_party").joinpath("versions.bzl")
    module = ast.parse(table.read_text(encoding="utf-8"))
    for statement in module.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in statement.targets
        ):
            return ast.literal_eval(statement.value)
    raise KeyError(name)
