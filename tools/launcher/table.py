"""Reads third_party/versions.bzl, which is written so that Python can read it too."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any


def read_table(root: Path, name: str) -> Any:
    """The value that versions.bzl assigns to `name`; KeyError if there is none."""
    module = ast.parse((root / "third_party" / "versions.bzl").read_text(encoding="utf-8"))
    for statement in module.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in statement.targets
        ):
            return ast.literal_eval(statement.value)
    raise KeyError(name)
