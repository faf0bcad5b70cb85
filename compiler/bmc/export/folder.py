"""Writes files into a folder of their own, and never over somebody else's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from bmc.errors import BmcError

# In the folder: the files that were written into it.
MANIFEST = "ironcast.json"


def write(folder: Path, files: Mapping[str, str | Path]) -> None:
    """Makes `folder` hold these files: text, or the path of a file to copy, by place in the folder.

    A folder that an earlier export made is brought up to date: what only the earlier one wrote goes.

    Raises:
      BmcError: the folder holds something else, or cannot be written.
    """
    try:
        _remove(folder, _earlier(folder) - set(files))
        folder.mkdir(parents=True, exist_ok=True)
        # First, so that an export that breaks off can be repeated.
        manifest = json.dumps({"files": sorted({*files, MANIFEST})}, indent=1)
        (folder / MANIFEST).write_text(manifest + "\n", encoding="utf-8")
        for place, content in files.items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.write_text(content, encoding="utf-8")
            else:
                shutil.copyfile(content, path)
    except OSError as error:
        raise _refused(f"'{folder}': {error.strerror}", "a folder that can be written") from error


def _refused(message: str, instead: str) -> BmcError:
    return BmcError("export-folder", message, hint=f"name {instead}")


def _earlier(folder: Path) -> set[str]:
    """Returns what an earlier export wrote."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return set()
    if not (folder / MANIFEST).is_file():
        raise _refused(f"'{folder}' holds something else", "a new or empty folder")
    try:
        files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        places = {str(PurePosixPath(place)) for place in files}
    except (KeyError, TypeError, ValueError) as error:
        raise _refused(f"'{folder / MANIFEST}' is damaged", "a new folder") from error
    if any(PurePosixPath(place).is_absolute() or ".." in place.split("/") for place in places):
        raise _refused(f"'{folder / MANIFEST}' names files elsewhere", "a new folder")
    return places - {MANIFEST}


def _remove(folder: Path, places: set[str]) -> None:
    for place in places:
        path = folder / place
        path.unlink(missing_ok=True)
        if path.parent != folder and path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()
