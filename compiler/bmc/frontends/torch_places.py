"""Names the lines and layers of a PyTorch model in stack traces and locations, wherever they are installed."""

from __future__ import annotations

import functools
import operator
import re
import sys
from pathlib import Path
from typing import Any

from bmc.names import LAYER_PREFIX, LIBRARY_PREFIX, WRAPPED

# Folders of installed packages.
_INSTALLED = ("site-packages", "dist-packages")
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_LOCATION = re.compile(r'"([^"]+)":(\d+):\d+')


def relative_frames(stack_trace: str, root: Path) -> str:
    """Makes file names in a stack trace independent of where the model and Python are installed."""

    def relative(match: re.Match[str]) -> str:
        return f'File "{_relative_name(match[1], root, tuple(sys.path))}", line {match[2]}'

    return _FRAME.sub(relative, stack_trace)


def op_name(target: Any) -> str:
    """Returns "add" for aten.add.Tensor, the target of a node."""
    return (*str(target).split("."), "")[1]


def written(node: Any) -> str:
    """Returns the name of the op or function that a user wrote, of which PyTorch has made a node."""
    if node.target is operator.getitem:
        return written(node.args[0])
    # A function in Python, such as torch.norm, calls ops that users may not know.
    kind, _, function = (node.meta.get("torch_fn") or ("", ""))[1].partition(".")
    name = str(node.target)
    sources = node.meta.get("from_node")
    while sources:
        name, sources = str(sources[0].target), sources[0].from_node
    return function if kind == "function" and function != op_name(name) else name


def layer_frame(node: Any) -> str:
    """Returns an outermost frame that names the module of a node; torch-mlir makes its locations of frames."""
    stack = node.meta.get("nn_module_stack") or {}
    path, kind = next(reversed(stack.values()), ("", ""))
    name = re.sub(rf"^(L\['self'\]\.)?({WRAPPED}(\.|$))?|[^\w.-]", "", path)
    if not name:
        return ""
    # The class is itself or its name.
    kind = getattr(kind, "__name__", str(kind)).rpartition(".")[2]
    return f'File "{LAYER_PREFIX}{name} ({kind})", line 0, in forward\n'


# Every op has a frame in each of the same few files.
@functools.cache
def _relative_name(name: str, root: Path, search: tuple[str, ...]) -> str:
    # Do not resolve: in a Bazel sandbox the model's files are links to another folder.
    file = Path(name).absolute()
    entries = sorted((Path(e).absolute() for e in search if e), key=lambda e: -len(str(e)))
    # A virtual environment may lie inside the model's folder.
    installed = [entry for entry in entries if entry.name in _INSTALLED]
    for entry in (*installed, root, *entries):
        if file.is_relative_to(entry):
            prefix = "" if entry is root else LIBRARY_PREFIX
            return prefix + file.relative_to(entry).as_posix()
    return LIBRARY_PREFIX + file.name


def line_of_trace(stack_trace: str) -> str:
    """Returns the innermost line of the model's own files, such as "model.py:42"; "" if there is none."""
    return ([""] + _own_lines(_FRAME.findall(stack_trace)))[-1]


def line_of_location(location: str) -> str:
    """The same for an MLIR location, which has the innermost line first."""
    return (_own_lines(_LOCATION.findall(location)) + [""])[0]


def _own_lines(found: list[tuple[str, str]]) -> list[str]:
    return [f"{file}:{line}" for file, line in found if not file.startswith("<")]
