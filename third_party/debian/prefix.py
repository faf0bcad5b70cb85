"""Debian packages as a prefix: a folder with all that they hold, made once for all output bases of a user."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from third_party.debian import apt
from third_party.debian.apt import Package, PrivateApt
from third_party.debian.errors import AptError
from tools.launcher import store
from tools.launcher.cache import fill_once, locked, write_whole

_RENEW_AFTER = 24 * 3600.0  # seconds
_REMOVE_AFTER = 3600.0


@dataclass(frozen=True)
class Prefix:
    """What to unpack.

    packages: names; "a|b" is the first of these that exists.
    versions: package -> recorded version. leave_out, skip: as in apt.py.
    source, also: lines of sources.list, as in apt.py.
    """

    packages: Sequence[str]
    versions: Mapping[str, str]
    leave_out: Sequence[str]
    skip: Sequence[str]
    source: str | None = None
    also: str | None = None


def drift(found: Sequence[Package], recorded: Mapping[str, str]) -> list[str]:
    """A line for each package that is not at its recorded version."""
    return [
        f"{p.name} is {p.version} on this machine's mirror; this project was made "
        f"with {recorded[p.name]}"
        for p in found
        if p.name in recorded and p.version != recorded[p.name]
    ]


def fetch(
    prefix: Prefix, finish: Callable[[Path], None], recipe: Sequence[object], root: Path
) -> list[str]:
    """Puts the unpacked packages into the folder `root`; returns the drift.

    finish: changes what was unpacked. recipe: all that decides what it does; a path stands for its file.
    Raises AptError, LauncherError.
    """
    apt.require_apt()
    root.parent.mkdir(parents=True, exist_ok=True)
    with store.opened() as shared, tempfile.TemporaryDirectory(dir=root.parent) as scratch:
        try:
            packages = _fetch(prefix, finish, recipe, root, shared, Path(scratch, "1"), False)
        except AptError:
            # The lists may be older than the mirror.
            packages = _fetch(prefix, finish, recipe, root, shared, Path(scratch, "2"), True)
    return drift(packages, prefix.versions)


def _fetch(
    prefix: Prefix,
    finish: Callable[[Path], None],
    recipe: Sequence[object],
    root: Path,
    shared: Path | None,
    scratch: Path,
    renew: bool,
) -> list[Package]:
    scratch.mkdir()
    state = _lists(shared or scratch, prefix, renew)
    private = PrivateApt(state, prefix.source, prefix.also, prefix.versions, scratch)
    packages = _resolved(private, state, prefix)

    def fill(work: Path) -> None:
        private.unpack(packages, work, prefix.skip)
        finish(work)

    content = store.key(packages, prefix.skip, Path(apt.__file__), *recipe)
    # The repository's name is the last part of what Bazel calls it.
    store.provide(root.parent.name.rpartition("~")[2], content, fill, root)
    return packages


def _lists(folder: Path, prefix: Prefix, renew: bool) -> Path:
    """The state of an apt with package lists of today, which others may use at the same time."""
    with tempfile.TemporaryDirectory() as scratch:
        uris = PrivateApt(Path(scratch), prefix.source, prefix.also).uris()
    name = f"lists-{store.key(uris)}"
    with locked(folder, f".{name}.lock"):
        found = sorted(folder.glob(f"{name}-*"))
        if (
            found
            and not renew
            and time.time() - float(found[-1].name[len(name) + 1 :]) < _RENEW_AFTER
        ):
            os.utime(found[-1])
            return found[-1]
        for old in found:
            if time.time() - old.stat().st_mtime > _REMOVE_AFTER:
                shutil.rmtree(old, ignore_errors=True)
        state = folder / f"{name}-{time.time():.0f}"
        fill_once(state, lambda work: PrivateApt(work, prefix.source, prefix.also).update())
        PrivateApt(state, prefix.source, prefix.also).candidate(
            "apt"
        )  # makes the cache in its place
        return state


def _resolved(private: PrivateApt, state: Path, prefix: Prefix) -> list[Package]:
    """The packages to unpack. The answer is kept with the lists that it comes from."""
    question = store.key(prefix.packages, sorted(prefix.versions.items()), prefix.leave_out)
    kept = state / f"resolved-{question}.json"
    if not kept.is_file():
        wanted = []
        for package in prefix.packages:
            names = package.split("|")
            wanted.append(next((name for name in names if private.candidate(name)), names[0]))
        packages = private.closure(wanted, prefix.leave_out)
        write_whole(kept, json.dumps([astuple(package) for package in packages]).encode())
    return [Package(*fields) for fields in json.loads(kept.read_text())]
