"""Writes files into a folder of their own, and never over somebody else's.

The folder may come from elsewhere, such as a clone, and have links in it.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from bmc.errors import BmcError

# In the folder: the files that were written into it.
MANIFEST = "ironcast.json"


def write(folder: Path, files: Mapping[str, str | Path]) -> None:
    """Makes `folder` hold these files: text, or the path of a file to copy, by place in the folder.

    A folder that an earlier export made is brought up to date: what only the earlier one wrote goes.

    Raises:
      BmcError: a file to copy is missing, the folder holds something else, has a link or a folder in the place of a
        file, or cannot be written.
    """
    for content in files.values():
        if isinstance(content, Path) and not content.is_file():
            raise BmcError(
                "file-missing",
                f"'{content}', which an export copies, is missing, so nothing was written",
                hint="compile the model again; for a file of bmc itself, use the wheel, or X.export of a workspace",
            )
    try:
        earlier = _earlier(folder)
        _require_files(folder, {*earlier, *files, MANIFEST})
        _remove(folder, earlier - set(files))
        folder.mkdir(parents=True, exist_ok=True)
        # First, so that an export that breaks off can be repeated.
        manifest = json.dumps({"files": sorted({*files, MANIFEST})}, indent=1)
        for place, content in ((MANIFEST, f"{manifest}\n"), *files.items()):
            _write(folder / place, content)
    except OSError as error:
        raise _refused(f"'{folder}': {error.strerror}", "a folder that can be written") from error


def _write(path: Path, content: str | Path) -> None:
    """Writes a file beside its place first, so that nothing is written through a link of any kind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            if isinstance(content, str):
                file.write(content.encode())
            else:
                with content.open("rb") as source:
                    shutil.copyfileobj(source, file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _require_files(folder: Path, places: Iterable[str]) -> None:
    """Refuses places that lead through a link, which may end elsewhere, or that are not those of files."""
    for place in sorted(places):
        path = folder / place
        parts = [path, *path.parents]
        inside = parts[: parts.index(folder)]
        for part in inside:
            if part.is_symlink():
                raise _refused(f"'{part}' is a link, which may lead elsewhere", "a new folder")
        if path.is_dir():
            raise _refused(f"'{path}' is a folder, where an export has a file", "a new folder")
        for part in inside[1:]:
            if part.exists() and not part.is_dir():
                raise _refused(f"'{part}' is a file, where an export has a folder", "a new folder")


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
        if any(b"\0" in os.fsencode(place) for place in places):
            raise ValueError("no file can be called that")
    except (KeyError, RecursionError, TypeError, ValueError) as error:
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
