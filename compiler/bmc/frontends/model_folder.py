"""Files beside a model, which its file names: read only where the model itself lies.

A link is followed where both the model and what it names are links into one folder, as all inputs are
in a Bazel sandbox, but never to somewhere else.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from bmc.errors import BmcError


def find(model: Path, name: str) -> Path:
    """Returns the file that a model calls `name`.

    Args:
      model: file of the model.
      name: path relative to the model's folder.

    Raises:
      BmcError: there is no such file, or it lies elsewhere.
    """
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == "/" or ".." in parts or "\0" in name or "\\" in name:
        raise _outside(model, name)
    path = model.parent / name
    if not path.is_file():
        raise BmcError(
            "file-missing",
            f"'{model.name}' names the file '{name}', which does not exist beside it",
            hint="keep both in one folder; bm_model(data = [...]) names it",
        )
    check(model, path)
    return path


def check(model: Path, path: Path) -> None:
    """Raises BmcError if a file or folder beside the model is a link to elsewhere."""
    folders = (model.parent.resolve(), model.resolve().parent)
    if not any(path.resolve().is_relative_to(folder) for folder in folders):
        raise _outside(model, path.relative_to(model.parent).as_posix())


def _outside(model: Path, name: str) -> BmcError:
    return BmcError(
        "unsafe-file",
        f"'{model.name}' reads '{name}', which lies outside its own folder",
        hint="a model file is data, and reads nothing but what lies beside it: keep both in one folder",
    )
