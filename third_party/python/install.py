"""Unpacks Python packages, each into a folder of its own, with one call of uv or pip."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from third_party.python.pip_config import uv_environment, uv_flags
from third_party.python.without_cuda import fill_in

# What an installer notes about itself, which differs between machines.
_NOTES = ("INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json")
_SITE = "site-packages"
# Modules that nobody imports, or few: tests, all models but one, and what MLIR knows of graphics cards.
_NOT_COMPILED = (
    r"/tests/|/transformers/models/|/dialects/_(acc|amdgpu|gpu|nvvm|omp|rocdl|spirv)_ops_gen"
)


class InstallError(Exception):
    """What uv or pip has said."""


@dataclass(frozen=True)
class Installer:
    """uv; or pip, if it is uv itself that is wanted.

    cache: where uv keeps what it has loaded. uv: the program, or None. pythonpath: for pip.
    python_version: other than this Python's, for packages that this Python will not import.
    """

    cache: Path
    uv: Path | None = None
    pythonpath: str = ""
    python_version: str = ""

    def run(self, requirements: Path, prefix: Path) -> None:
        """Installs the packages of a requirements file; raises InstallError."""
        common = [f"--prefix={prefix}", "--no-deps", "--require-hashes", "--quiet"]
        env = dict(os.environ)
        if self.uv is None:
            env["PYTHONPATH"] = self.pythonpath
            command = [sys.executable, "-m", "pip", "install", *common, "--ignore-installed"]
            command += ["--no-compile", "--no-warn-script-location", "--disable-pip-version-check"]
        else:
            self.cache.mkdir(exist_ok=True)
            os.utime(self.cache)
            env = uv_environment(env)
            command = [str(self.uv), "pip", "install", *common, *uv_flags(os.environ)]
            command += [f"--python={sys.executable}", f"--cache-dir={self.cache}"]
            # Hashes decide which file it is, whoever has it.
            command += ["--index-strategy=unsafe-best-match", "--link-mode=hardlink"]
            if self.python_version:
                command += [f"--python-version={self.python_version}", "--only-binary=:all:"]
        done = subprocess.run(
            [*command, "-r", str(requirements)],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            raise InstallError(" ".join(lines) or f"it ended with status {done.returncode}")


def normal(name: str) -> str:
    """A package's name as part of a repository's."""
    return re.sub(r"[-_.]+", "_", name).lower()


def unpack(
    installer: Installer, requirements: Sequence[str], skip: Sequence[str], scratch: Path
) -> dict[str, Path]:
    """Returns a folder for each package: normal name -> folder with `site-packages` and `bin`.

    skip: folders in `site-packages` to leave out. scratch: an empty folder, in which the others are.
    Raises InstallError.
    """
    file = scratch / "requirements.txt"
    file.write_text("\n".join(requirements) + "\n")
    prefix = scratch / "prefix"
    installer.run(file, prefix)
    infos = sorted(prefix.glob(f"**/{_SITE}/*.dist-info")) or sorted(prefix.glob("**/*.dist-info"))
    for site in {info.parent for info in infos}:
        compile_bytecode(site)
    found = {}
    for info in infos:
        name = normal(info.name.partition("-")[0])
        found[name] = scratch / name
        _move(info, prefix, skip, found[name])
        libraries = found[name] / _SITE / "torch/lib"
        if (libraries / "libtorch_cuda.so").exists():
            fill_in(libraries)
    return found


def compile_bytecode(site: Path) -> None:
    """Compiles modules.

    Importing torch and transformers takes 7 s without compiled files and 3 s with them, in every action
    that imports them, and an action cannot keep them. They hold the hash of their source, not its time, so
    that they are the same on all machines and a file that somebody changes is not run as it was.
    """
    command = [sys.executable, "-m", "compileall", "-q", "-j0", "--invalidation-mode=checked-hash"]
    command += ["-x", _NOT_COMPILED, "-s", site.name, "-p", _SITE, site.name]
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    # Some files are for other Pythons.
    subprocess.run(command, cwd=site.parent, env=env, capture_output=True, check=False)


def _move(info: Path, prefix: Path, skip: Sequence[str], into: Path) -> None:
    """Moves the files of a package out of a prefix that has several."""
    site = info.parent
    record = info / "RECORD"
    notes = {f"{info.name}/{name}" for name in _NOTES}
    kept = [
        row
        for row in csv.reader(record.read_text().splitlines())
        if row and row[0] not in notes and not any(row[0].startswith(f"{one}/") for one in skip)
    ]
    with record.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(kept)
    folders: set[Path] = set()
    for path in _files(site, kept):
        inside = path.is_relative_to(site)
        # Python's own scheme for a prefix, or Debian's, which is below `local`.
        place = _SITE / path.relative_to(site) if inside else _outside(path.relative_to(prefix))
        target = into / place
        if target.parent not in folders:
            target.parent.mkdir(parents=True, exist_ok=True)
            folders.add(target.parent)
        path.rename(target)


def _outside(path: Path) -> Path:
    return path.relative_to("local") if path.parts[0] == "local" else path


def _files(site: Path, rows: Iterable[Sequence[str]]) -> Iterable[Path]:
    """The files that a RECORD lists, and what was compiled of them."""
    tag = sys.implementation.cache_tag
    for name, *_ in rows:
        path = Path(os.path.normpath(site / name))
        yield path
        compiled = path.parent / "__pycache__" / f"{path.stem}.{tag}.pyc"
        if path.suffix == ".py" and compiled.exists():
            yield compiled
