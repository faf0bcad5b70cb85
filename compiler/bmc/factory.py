"""Loads `path/to/model.py:factory` and calls the factory."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from bmc import installing
from bmc.errors import BmcError

T = TypeVar("T")

# The most characters of a message to quote. What follows is usually advice.
_LONGEST = 200
_BOLD = re.compile("\x1b\\[1m(.*?)\x1b\\[0m", re.DOTALL)
# TensorFlow's own names for functions and devices.
_DEVICE = re.compile(r"\{\{function_node [^}]*\}\} | \[Op:\w+\] name: ")


def split(source: str) -> tuple[Path, str]:
    """Splits "model.py:make" into file and factory; raises BmcError if the file does not exist."""
    path_text, colon, name = source.rpartition(":")
    if not colon or not name.isidentifier():
        raise BmcError(
            "bad-source",
            f"'{source}' does not name a factory",
            hint="write path/to/model.py:function_name",
        )
    path = Path(path_text)
    if not path.is_file():
        raise BmcError("file-missing", f"model file '{path}' does not exist")
    return path, name


@contextlib.contextmanager
def called(source: str, result_type: type[T]) -> Iterator[T]:
    """Calls the factory and yields its result. The factory can import modules that lie beside its file.

    These modules and the file's own stay loaded while the block runs, because frameworks look them up by
    name when they export the model. Afterwards they and sys.path are restored, so that the next model gets
    its own modules of these names.

    Raises:
      BmcError: there is no such function, it raised an error, or its result is not a `result_type`.
    """
    path, name = split(source)
    search_path, modules = list(sys.path), dict(sys.modules)
    try:
        yield _call(path, name, result_type)
    finally:
        sys.path[:] = search_path
        for loaded in (path.stem, *_loaded_from(path.parent.absolute())):
            if loaded in modules:
                sys.modules[loaded] = modules[loaded]
            else:
                sys.modules.pop(loaded, None)


def _loaded_from(folder: Path) -> list[str]:
    """Names of modules that lie in the folder, without those of packages installed below it."""
    found = []
    for name, module in sys.modules.items():
        place = folder.joinpath(*name.split("."))
        if getattr(module, "__file__", None) in (f"{place}.py", str(place / "__init__.py")):
            found.append(name)
    return found


def _call(path: Path, name: str, result_type: type[T]) -> T:
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    if module_spec is None:
        raise BmcError("bad-source", f"'{path}' cannot be loaded as Python")
    module = importlib.util.module_from_spec(module_spec)
    folder = str(path.parent.absolute())
    sys.path.insert(0, folder)
    sys.modules[path.stem] = module
    try:
        # Not with the loader: its bytecode cache mistakes two files for one if they have the same length
        # and were written within the same second.
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
        function = getattr(module, name, None)
        if not callable(function):
            raise BmcError("bad-source", f"'{path.name}' has no function '{name}'")
        result = function()
    except BmcError:
        raise
    except (Exception, SystemExit) as error:
        raise BmcError(
            "model-failed",
            f"{path.name}:{name} raised {type(error).__name__}: {first_line(error)}",
            where=model_line(error, path.parent),
            hint=installing.of_module(error) if isinstance(error, ImportError) else "",
        ) from error
    finally:
        # Not by its place: the file may have changed the list.
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)
    if not isinstance(result, result_type):
        raise BmcError(
            "bad-spec",
            f"{path.name}:{name} returned {type(result).__name__}",
            hint=f"return a bmc.spec.{result_type.__name__}",
        )
    return result


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message, or the line that Keras prints in bold."""
    bold = _BOLD.search(str(error))
    text = _DEVICE.sub("", bold[1] if bold else str(error)).strip()
    line = text.splitlines()[0] if text else "no message"
    return line if len(line) <= _LONGEST else line.split(". ", 1)[0][:_LONGEST]


def model_line(error: BaseException, folder: Path) -> str:
    """Returns "model.py:42" for the innermost frame of the error inside `folder`, else ""."""
    where = ""
    root = folder.absolute()
    traceback = error.__traceback__
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename).absolute()
        if file.is_relative_to(root):
            where = f"{file.relative_to(root).as_posix()}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return where
