"""The program of debian_suite_repo: unpacks programs of another Debian release, with a request on stdin.

They start with the loader and the C library of that release, which may be newer than the machine's. Prints
one line for each package whose version is not the recorded one, and nothing else.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True  # keeps the work tree clean
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from third_party.debian.apt import (  # noqa: E402
    KEYRING,
    machine_mirrors,
    relative_symlinks,
    require_apt,
)
from third_party.debian.errors import AptError  # noqa: E402
from third_party.debian.prefix import Prefix, fetch  # noqa: E402
from tools.launcher.errors import LauncherError  # noqa: E402

# Since Debian 13 all of a release's files are below /usr.
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_LOADER = f"{_LIBRARIES}/ld-linux-x86-64.so.2"

# Everything is found relative to the script's real path, so that a prefix can move.
_START = """\
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/{up}
exec "$root/{loader}" --library-path "$root/{libraries}" "$root/{program}" "$@"
"""


@dataclass(frozen=True)
class Request:
    """What to unpack.

    suite: codename of the release. root: folder to unpack into.
    packages: names. versions: package -> recorded version. leave_out, skip: as in apt.py.
    program: file below root that will run.
    """

    suite: str
    root: str
    packages: list[str]
    versions: dict[str, str]
    leave_out: list[str]
    skip: list[str]
    program: str


def source(mirror: str, suite: str) -> str:
    """Returns the line of sources.list for a release, whose signature apt checks. Raises AptError."""
    if not KEYRING.is_file():
        raise AptError(
            f"{KEYRING} is missing, so Debian's signatures cannot be checked: "
            "install debian-archive-keyring."
        )
    return f"deb [signed-by={KEYRING}] {mirror} {suite} main"


def run(request: Request) -> list[str]:
    """Fills root; returns the drift. Raises AptError, LauncherError."""
    require_apt()
    with tempfile.TemporaryDirectory() as scratch:
        mirrors = machine_mirrors(Path(scratch))
    if not mirrors:
        raise AptError("This machine's apt has no mirror: add one to its sources.")
    prefix = Prefix(
        packages=request.packages,
        versions=request.versions,
        leave_out=request.leave_out,
        skip=request.skip,
        source=source(mirrors[0], request.suite),
    )

    def finish(root: Path) -> None:
        relative_symlinks(root)
        start_with_own_loader(root, request.program)

    return fetch(prefix, finish, [request.program, Path(__file__)], Path(request.root))


def start_with_own_loader(root: Path, program: str) -> None:
    """Puts a script in a program's place that starts it with root's loader. Raises AptError."""
    for needed in (program, _LOADER):
        if not (root / needed).exists():
            raise AptError(
                f"The Debian packages hold no {needed}: their layout has changed; "
                "adjust third_party/debian/packages.bzl."
            )
    path = root / program
    moved = path.rename(path.with_name(f"{path.name}.real"))
    up = "/".join(".." for _ in Path(program).parent.parts)
    path.write_text(
        _START.format(up=up, loader=_LOADER, libraries=_LIBRARIES, program=moved.relative_to(root))
    )
    path.chmod(0o755)


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
