"""Packs the launcher into one file, a program that Python runs: one_file OUT FILE..."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path, PurePosixPath

# Python reads the program behind the first line as a zip archive.
_FIRST_LINE = b"#!/usr/bin/env python3\n"
_MAIN = """\
import sys
import zipfile
from pathlib import Path

if sys.version_info < (3, 11):
    sys.exit(
        "tools/bazel: Python 3.11 or newer is needed, and `python3` on PATH is "
        + sys.version.split()[0]
        + "."
    )

from tools.launcher.main import main

PROGRAM = Path(__file__).resolve().parent
sys.exit(main(PROGRAM.parent.parent, zipfile.Path(PROGRAM)))
"""


def pack(files: list[Path]) -> dict[str, bytes]:
    """Returns the archive's entries: name -> content; a name that ends in / is a folder."""
    entries = {"__main__.py": _MAIN.encode()}
    for file in files:
        # A file of another repository has its name behind `../REPOSITORY/` or `external/REPOSITORY/`.
        parts = PurePosixPath(file).parts
        name = PurePosixPath(*(parts[2:] if parts[0] in ("..", "external") else parts))
        # Python finds packages without __init__.py only in folders that are entries themselves.
        for folder in reversed(name.parents[:-1]):
            entries[f"{folder}/"] = b""
        entries[str(name)] = file.read_bytes()
    return entries


def main(args: list[str]) -> int:
    out = Path(args[0])
    with out.open("wb") as file:
        file.write(_FIRST_LINE)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in sorted(pack([Path(arg) for arg in args[1:]]).items()):
                # ZipInfo's own date is a constant, so the file depends on its contents only.
                info = zipfile.ZipInfo(name)
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, content)
    out.chmod(0o755)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
