"""The program of the debian_* repository rules: `lists DIR`, or `unpack` with a request on stdin.

`unpack` prints one line for each package whose version is not the recorded one, and nothing else. It writes
`folders.json` beside the root: the folders that hold everything but programs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True  # keeps the work tree clean
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from third_party.debian.apt import (  # noqa: E402
    AptError,
    Package,
    PrivateApt,
    backports,
    is_elf,
    patch_elf,
    relative_symlinks,
    require_apt,
    unpack,
)

# Where Debian's libraries are in a prefix.
_LIBRARIES = (
    "usr/lib/x86_64-linux-gnu",
    "lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu/pulseaudio",
)


@dataclass(frozen=True)
class Request:
    """What to unpack.

    lists: folder of package lists. root: folder to unpack into.
    packages: names; "a|b" is the first of these that exists.
    versions: package -> recorded version. leave_out, skip: as in apt.py.
    programs: files below root that will run and must find their libraries below root.
    """

    lists: str
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


def drift(found: list[Package], recorded: Mapping[str, str]) -> list[str]:
    """A line for each package that is not at its recorded version."""
    return [
        f"{p.name} is {p.version} on this machine's mirror; this project was made "
        f"with {recorded[p.name]}"
        for p in found
        if p.name in recorded and p.version != recorded[p.name]
    ]


def download_lists(state: Path) -> None:
    """Downloads the lists of this machine's sources and of its backports. Raises AptError."""
    try:
        PrivateApt(state, also=backports(state)).update()
    except AptError:
        # Not every mirror carries backports.
        PrivateApt(state).update()


def fetch(request: Request) -> list[str]:
    """Resolves, downloads, unpacks; returns the drift. Raises AptError."""
    require_apt()
    root = Path(request.root)
    with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
        state = Path(scratch)
        also = backports(state)
        apt = PrivateApt(state, pins=request.versions, lists=Path(request.lists), also=also)
        try:
            packages = apt.closure(_wanted(apt, request), request.leave_out)
            debs = apt.download(packages, state / "debs")
        except AptError:
            # The lists may be older than the mirror: try again with new ones.
            shutil.rmtree(state / "debs", ignore_errors=True)
            download_lists(state)
            apt = PrivateApt(state, pins=request.versions, also=also)
            packages = apt.closure(_wanted(apt, request), request.leave_out)
            debs = apt.download(packages, state / "debs")
        unpack(debs, root, request.skip)
    relative_symlinks(root)
    remove_links_to_nothing(root)
    mend_linker_scripts(root)
    _mend_programs(root, request.programs)
    folders = folders_without_programs(root, request.programs)
    (root.parent / "folders.json").write_text(json.dumps(folders))
    return drift(packages, request.versions)


def _wanted(apt: PrivateApt, request: Request) -> list[str]:
    wanted = []
    for package in request.packages:
        names = package.split("|")
        wanted.append(next((name for name in names if apt.candidate(name)), names[0]))
    return [*wanted, *(["patchelf"] if request.programs else [])]


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


def main(argv: list[str]) -> int:
    """Entry point; returns the exit status."""
    try:
        if argv[:1] == ["lists"] and len(argv) == 2:
            require_apt()
            download_lists(Path(argv[1]))
        elif argv == ["unpack"]:
            for line in fetch(Request(**json.load(sys.stdin))):
                print(line)
        else:
            print("usage: tools.py lists DIR | tools.py unpack < request.json", file=sys.stderr)
            return 2
    except AptError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
