"""The program of npm_pack: puts an npm package into a folder, with a request on stdin."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

sys.dont_write_bytecode = True  # keeps the work tree clean
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.launcher import store  # noqa: E402
from tools.launcher.errors import LauncherError  # noqa: E402


@dataclass(frozen=True)
class Request:
    """What to put where.

    node, npm: the program, and the script that it runs. package: name and version.
    file, sha256: a file of the package and its hash. root: folder to put the package into.
    """

    node: str
    npm: str
    package: str
    file: str
    sha256: str
    root: str


def fetch(request: Request) -> None:
    """Fills the request's root. Raises LauncherError."""

    def fill(work: Path) -> None:
        archive = _download(request, work)
        _extract(archive, work)
        archive.unlink()
        found = hashlib.sha256((work / request.file).read_bytes()).hexdigest()
        if found != request.sha256:
            raise LauncherError(
                f"{request.file} of {request.package} has sha256 {found} and not {request.sha256}: do not use it."
            )

    name = request.package.rpartition("@")[0].rpartition("/")[2]
    key = store.key(request.package, request.file, request.sha256, Path(__file__))
    store.provide(f"npm_{name}", key, fill, Path(request.root))


def _download(request: Request, work: Path) -> Path:
    """Downloads the package with npm, which checks it; returns the archive."""
    cache = work / ".cache"
    done = subprocess.run(
        [
            request.node,
            request.npm,
            "pack",
            "--loglevel=error",
            f"--cache={cache}",
            request.package,
        ],
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode != 0:
        said = " ".join(line.strip() for line in done.stderr.splitlines() if line.strip())
        raise LauncherError(
            f"npm could not download {request.package} ({said or 'nothing was printed'})."
        )
    shutil.rmtree(cache, ignore_errors=True)
    return work / done.stdout.split()[-1]


def _extract(archive: Path, into: Path) -> None:
    """Unpacks the regular files of the archive, which are below one folder."""
    with tarfile.open(archive) as tar:
        for member in tar:
            path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            content = (
                tar.extractfile(member) if member.isfile() and ".." not in path.parts else None
            )
            if content is not None:
                target = into / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
                target.chmod(0o755 if member.mode & 0o100 else 0o644)


def main() -> int:
    """Entry point; returns the exit status."""
    try:
        fetch(Request(**json.load(sys.stdin)))
    except (LauncherError, subprocess.TimeoutExpired, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
