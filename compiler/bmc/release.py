"""The version of Ironcast, from version.bzl."""

from __future__ import annotations

import ast
from importlib import resources


def _read() -> str:
    source = resources.files("bmc").joinpath("version.bzl").read_text(encoding="utf-8")
    assignment = ast.parse(source).body[-1]
    assert isinstance(assignment, ast.Assign)
    return str(ast.literal_eval(assignment.value))


VERSION = _read()
