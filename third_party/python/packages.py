"""The program of package_repo: puts a Python package into a folder, with a request on stdin.

What the package needs comes with it into the store of this user, all that is missing in one call of uv.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True  # keeps the work tree clean
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from third_party.python import cpu_builds  # noqa: E402
from third_party.python.install import Installer, InstallError, unpack  # noqa: E402
from tools.launcher import store  # noqa: E402
from tools.launcher.cache import disk_full, is_full, locked, open_lock  # noqa: E402
from tools.launcher.errors import LauncherError  # noqa: E402
from tools.launcher.table import read_table  # noqa: E402

_RECIPE = [
    Path(__file__).with_name(name) for name in ("install.py", "stub_library.py", "without_cuda.py")
]
# For these, every package in the lock has a wheel or needs none.
_KNOWN = ("3.11", "3.12", "3.13")


@dataclass(frozen=True)
class Request:
    """What to put where.

    name: of the package, as in the file `packages`: name -> line of the lock, names of what it needs, and what to skip.
    root: folder to put it into. uv: the program; empty if it is uv itself, which pip at `pythonpath` fetches.
    python_version: as in install.py.
    """

    name: str
    packages: str
    root: str
    uv: str = ""
    pythonpath: str = ""
    python_version: str = ""


class Packages:
    """All locked packages, as this Python and this machine's configuration take them."""

    def __init__(self, table: Mapping[str, Any], python_version: str) -> None:
        """table: the content of a request's file `packages`."""
        self._table = table
        self._builds = read_table(ROOT, "PYTHON_CPU_BUILDS")
        libc = platform.libc_ver()
        abi = sysconfig.get_config_var("EXT_SUFFIX")
        self._python = [platform.python_version(), abi, platform.machine(), libc, python_version]

    def closure(self, name: str) -> list[str]:
        """A package and all that it needs."""
        found, todo = set(), [name]
        while todo:
            one = todo.pop()
            if one not in found:
                found.add(one)
                todo += self._table[one]["needs"]
        return sorted(found)

    def key(self, name: str) -> str:
        """Differs if the package's content may."""
        choice = ""
        if any(wheel.split("-")[0] == name for wheel in self._builds):
            choice = cpu_builds.choice(os.environ, self._builds, cpu_builds.python_tag())
        about = self._table[name]
        return store.key(about["line"], about["skip"], *self._python, choice, *_RECIPE)

    def skip(self, names: Sequence[str]) -> list[str]:
        """What to leave out of these packages."""
        return [folder for name in names for folder in self._table[name]["skip"]]

    def requirements(self, name: str) -> list[str]:
        """How to ask for the package, best first.

        `===` takes exactly the locked version. For `==`, a local one such as 2.13.0+cpu is the same and better.
        """
        line = self._table[name]["line"].replace("==", "===", 1)
        tag = cpu_builds.python_tag()
        return [*cpu_builds.requirements(os.environ, self._builds, tag, name), line]


def fetch(request: Request) -> None:
    """Fills the request's root. Raises InstallError, LauncherError."""
    packages = Packages(json.loads(Path(request.packages).read_text()), request.python_version)
    root = Path(request.root)
    with (
        store.opened() as shared,
        tempfile.TemporaryDirectory(prefix=".", dir=shared or root) as scratch,
    ):
        installer = Installer(
            uv=Path(request.uv) if request.uv else None,
            cache=(shared or Path(scratch)) / store.DOWNLOADS,
            pythonpath=request.pythonpath,
            python_version=request.python_version,
        )
        if shared is None:
            unpacked = _unpack(installer, packages, [request.name], Path(scratch))
            store.link(unpacked[request.name], root)
            return
        names = packages.closure(request.name)
        for number, missing in enumerate(_missing(shared, packages, names)):
            work = Path(scratch, str(number))
            work.mkdir()
            for name, folder in _unpack(installer, packages, missing, work).items():
                store.add(_entry(shared, packages, name), folder.rename)
        store.link(_entry(shared, packages, request.name), root)


def _entry(shared: Path, packages: Packages, name: str) -> Path:
    return shared / f"pypi_{name}-{packages.key(name)}"


def _missing(shared: Path, packages: Packages, names: Sequence[str]) -> Iterator[list[str]]:
    """Gives packages that the store lacks, until it lacks none; nobody else fetches them meanwhile.

    What others fetch at this moment is waited for, and given if they fail.
    """
    while True:
        lacking = [name for name in names if not store.has(_entry(shared, packages, name))]
        if not lacking:
            return
        with ExitStack() as held:
            mine = [name for name in lacking if _try_lock(held, shared / f".pypi_{name}.lock")]
            mine = [name for name in mine if not store.has(_entry(shared, packages, name))]
            if mine:
                yield mine
                continue
        with locked(shared, f".pypi_{lacking[0]}.lock"):
            pass


def _try_lock(held: ExitStack, path: Path) -> bool:
    lock = open_lock(path)
    held.callback(os.close, lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unpack(
    installer: Installer, packages: Packages, names: Sequence[str], scratch: Path
) -> dict[str, Path]:
    """As install.unpack; a package that cannot be had as it is best is taken as it is locked."""
    asked = [packages.requirements(name) for name in names]
    try:
        (scratch / "1").mkdir()
        return unpack(installer, [best for best, *_ in asked], packages.skip(names), scratch / "1")
    except InstallError as error:
        if is_full(error) or all(len(ways) == 1 for ways in asked):
            raise
        (scratch / "2").mkdir()
        return unpack(installer, [ways[-1] for ways in asked], packages.skip(names), scratch / "2")


def _place(request: Request) -> Path:
    with store.opened() as shared:
        return shared or Path(request.root)


def main() -> int:
    """Entry point; returns the exit status."""
    try:
        request = Request(**json.load(sys.stdin))
        try:
            fetch(request)
        except (InstallError, OSError) as error:
            if is_full(error):
                # All that is fetched and unpacked is there, or in the cache.
                raise disk_full(_place(request)) from error
            raise
    except LauncherError as error:
        print(error, file=sys.stderr)
        return 1
    except (InstallError, OSError) as error:
        print(error, file=sys.stderr)
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        if version not in _KNOWN:
            print(
                f"It may not exist for Python {version}: set IRONCAST_PYTHON to one of {', '.join(_KNOWN)}.",
                file=sys.stderr,
            )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
