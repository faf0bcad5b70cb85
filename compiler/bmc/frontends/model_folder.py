"""Files that a model file names. They are read only if they lie beside the model.

In a Bazel sandbox, a model and its files are links into one folder. Such links are followed, but never a
link to anywhere else.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from bmc.errors import BmcError


def find(model: Path, name: str) -> Path:
    """Returns the file that a model refers to as `name`.

    Args:
      model: the model file.
      name: path relative to the model's folder.

    Raises:
      BmcError: there is no such file, or it lies outside the model's folder.
    """
    given = PurePosixPath(name)
    bad = not given.parts or given.is_absolute() or ".." in given.parts
    if bad or "\0" in name or "\\" in name:
        raise _outside(model, name)
    path = model.parent / name
    if path.exists() and not path.is_file() and not path.is_dir():
        raise BmcError(
            "unsafe-file",
            f"'{model.name}' names the file '{name}', which is no ordinary file",
            hint="a model reads only files: put one there",
        )
    if not path.is_file():
        raise BmcError(
            "file-missing",
            f"'{model.name}' names the file '{name}', which does not exist beside it",
            hint="keep both in one folder, and list the file in bm_model(data = [...])",
        )
    check(model, path)
    return path


def check(model: Path, path: Path) -> None:
    """Raises BmcError if a file or folder beside the model is a link to another folder."""
    folders = (model.parent.resolve(), model.resolve().parent)
    if not any(path.resolve().is_relative_to(folder) for folder in folders):
        raise _outside(model, path.relative_to(model.parent).as_posix())


def _outside(model: Path, name: str) -> BmcError:
    return BmcError(
        "unsafe-file",
        f"'{model.name}' reads '{name}', which lies outside its own folder",
        hint="a model file may read only files beside it: keep both in one folder",
    )
