"""Reads tables of third_party, which are written so that Python can read them too."""

from __future__ import annotations

import ast
from importlib.resources.abc import Traversable
from typing import Any


def read_table(ironcast: Traversable, name: str, *path: str) -> Any:
    """The value that a file of Ironcast's tree assigns to `name`; KeyError if there is none.

    The file is third_party/versions.bzl, unless `path` names another one below third_party.
    """
    table = ironcast.joinpath("third_party")
    for part in path or ("versions.bzl",):
        table = table.joinpath(part)
    module = ast.parse(table.read_text(encoding="utf-8"))
    for statement in module.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in statement.targets
        ):
            return ast.literal_eval(statement.value)
    raise KeyError(name)
