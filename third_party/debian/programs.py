"""The program of debian_tools_repo: unpacks programs of this machine's release, with a request on stdin.

Prints one line for each package whose version is not the recorded one, and nothing else. Writes `folders.json`
beside the root: the folders that hold everything but programs.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True  # keeps the work tree clean
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from third_party.debian.apt import (  # noqa: E402
    backports,
    is_elf,
    patch_elf,
    relative_symlinks,
    require_apt,
)
from third_party.debian.errors import AptError  # noqa: E402
from third_party.debian.prefix import Prefix, fetch  # noqa: E402
from tools.launcher.errors import LauncherError  # noqa: E402

# Where Debian's libraries are in a prefix.
_LIBRARIES = (
    "usr/lib/x86_64-linux-gnu",
    "lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu/pulseaudio",
)


@dataclass(frozen=True)
class Request:
    """What to unpack.

    root: folder to unpack into.
    packages: names; "a|b" is the first of these that exists.
    versions: package -> recorded version. leave_out, skip: as in apt.py.
    programs: files below root that will run and must find their libraries below root.
    """

    root: str
    packages: list[str]
    versions: dict[str, str]
    leave_out: list[str]
    skip: list[str]
    programs: list[str]


def folders_without_programs(root: Path, programs: Sequence[str]) -> list[str]:
    """Returns all below `root` but programs, in as few paths as possible: the largest folders that hold none.

    Paths begin with the name of `root`.
    """
    split = {root}
    for program in (*programs, *(f"{folder}/x" for folder in root.glob("**/bin"))):
        split.update((root / program).parents)
    found: list[Path] = []
    for folder, names, files in os.walk(root):
        whole = [name for name in names if Path(folder, name) not in split]
        names[:] = [name for name in names if name not in whole]
        if Path(folder).name not in ("bin", "sbin"):
            found += [Path(folder, name) for name in (*whole, *files)]
    named = {root / program for program in programs}
    return sorted(path.relative_to(root.parent).as_posix() for path in found if path not in named)


def run(request: Request) -> list[str]:
    """Fills root; returns the drift. Raises AptError, LauncherError."""
    require_apt()
    with tempfile.TemporaryDirectory() as scratch:
        also = backports(Path(scratch))
    prefix = Prefix(
        packages=[*request.packages, *(["patchelf"] if request.programs else [])],
        versions=request.versions,
        leave_out=request.leave_out,
        skip=request.skip,
        also=also,
    )

    def finish(root: Path) -> None:
        relative_symlinks(root)
        remove_links_to_nothing(root)
        mend_linker_scripts(root)
        _mend_programs(root, request.programs)

    root = Path(request.root)
    drift = fetch(prefix, finish, [request.programs, Path(__file__)], root)
    folders = folders_without_programs(root, request.programs)
    (root.parent / "folders.json").write_text(json.dumps(folders))
    return drift


def remove_links_to_nothing(root: Path) -> None:
    """Removes links into packages that are left out: Bazel takes no folder that holds one."""
    for folder, names, files in os.walk(root):
        for path in (Path(folder, name) for name in (*names, *files)):
            if path.is_symlink() and not path.exists():
                path.unlink()


def mend_linker_scripts(root: Path) -> None:
    """Corrects the paths in linker scripts that stand for libraries.

    Since Debian 13 files are only below /usr: /lib is a link that no package contains.
    """

    def where_it_is(match: re.Match[str]) -> str:
        moved = not Path(f"{root}{match[0]}").exists() and Path(f"{root}/usr{match[0]}").exists()
        return f"/usr{match[0]}" if moved else match[0]

    for script in root.glob("usr/lib/*/*.so"):
        if script.is_file() and not script.is_symlink() and not is_elf(script):
            text = script.read_text(errors="surrogateescape")
            mended = re.sub(r"(?<=\s)/lib\w*/\S+", where_it_is, text)
            if mended != text:
                script.write_text(mended, errors="surrogateescape")


def _mend_programs(root: Path, programs: list[str]) -> None:
    """Makes each program find the prefix's libraries relative to itself, so that a prefix can move."""
    if not programs:
        return
    os.environ["LD_LIBRARY_PATH"] = ":".join(
        str(root / folder) for folder in _LIBRARIES
    )  # for patchelf itself
    patchelf = str(root / "usr/bin/patchelf")
    for program in programs:
        if not (root / program).exists():
            raise AptError(
                f"The Debian packages hold no {program}: their layout has changed; "
                "adjust third_party/debian/packages.bzl."
            )
    for path in sorted({(root / program).resolve() for program in programs}):
        rpath = [f"$ORIGIN/{os.path.relpath(root / folder, path.parent)}" for folder in _LIBRARIES]
        patch_elf(patchelf, "--force-rpath", "--set-rpath", ":".join(rpath), str(path))
    # A library with its own search path does not use the program's.
    for library in sorted(path for path in root.glob("usr/lib/**/*.so*") if is_elf(path)):
        if patch_elf(patchelf, "--print-rpath", str(library)):
            patch_elf(patchelf, "--remove-rpath", str(library))


def main() -> int:
    """Entry point; returns the exit status."""
    try:
        for line in run(Request(**json.load(sys.stdin))):
            print(line)
    except (AptError, LauncherError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
