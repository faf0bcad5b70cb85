"""Unpacked packages, once for all output bases of a user.

The name of an entry ends in a hash of everything that decides its content. It appears complete or not at
all, and nothing changes it afterwards. An output base gets hard links to its files: they take no space, and
stay when the entry goes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.launcher.cache import cache_dir, fill_once, locked, open_lock, private_folder, say
from tools.launcher.errors import LauncherError

_DAY = 24 * 3600.0  # seconds
_UNUSED_AFTER = 30 * _DAY
# uv's downloads. What it has unpacked is in entries too; the rest is for somebody who stops a download.
DOWNLOADS = "uv"


def key(*parts: object) -> str:
    """Returns a hash of these values. A path stands for the content of its file."""
    content = [
        part.read_bytes() if isinstance(part, Path) else repr(part).encode() for part in parts
    ]
    together = b"".join(hashlib.sha256(part).digest() for part in content)
    return hashlib.sha256(together).hexdigest()[:24]


def _open() -> tuple[Path, int]:
    """Returns the store's folder and its lock, an open file; raises LauncherError, OSError."""
    store = private_folder(cache_dir() / "packages")
    return store, open_lock(store / ".lock")


def check() -> None:
    """Says why there is no store, if there is none: everything works without it, but takes longer."""
    try:
        os.close(_open()[1])
    except (LauncherError, OSError) as error:
        say(f"unpacked packages are not shared among checkouts: {error}")


@contextmanager
def opened() -> Iterator[Path | None]:
    """Gives the store's folder, in which nothing is removed meanwhile, or None if there can be none."""
    try:
        store, lock = _open()
    except (LauncherError, OSError):
        yield None
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield store
    finally:
        os.close(lock)


def provide(name: str, key: str, fill: Callable[[Path], None], into: Path) -> None:
    """Puts into the folder `into` what `fill` writes into a folder, which it is called for only once.

    Raises what fill raises, and LauncherError.
    """
    with opened() as store:
        if store is None:
            into.mkdir(parents=True, exist_ok=True)
            fill(into)
            return
        with locked(store, f".{name}.lock"):
            add(store / f"{name}-{key}", fill)
        link(store / f"{name}-{key}", into)


def has(entry: Path) -> bool:
    """Whether this entry is there: a folder of this user's with something in it, and no link to one."""
    try:
        found = entry.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and any(entry.iterdir())


def add(entry: Path, fill: Callable[[Path], None]) -> None:
    """Creates an entry unless it exists; call this with a lock that keeps others from it."""
    if has(entry):
        return
    if os.path.lexists(entry):
        _remove(entry)

    def fill_and_freeze(work: Path) -> None:
        fill(work)
        for folder, _, names in os.walk(work):
            for path in (Path(folder, name) for name in names):
                if not path.is_symlink():
                    # Several output bases share the file.
                    path.chmod(path.stat().st_mode & ~0o222)

    fill_once(entry, fill_and_freeze)


def link(entry: Path, into: Path) -> None:
    """Puts an entry's files into a folder: as links, or copies where the file system has no links."""
    os.utime(entry)
    _link(entry, into)


def _link(source: Path | os.DirEntry[str], into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    with os.scandir(source) as found:
        for one in found:
            target = into / one.name
            if one.is_dir(follow_symlinks=False):
                _link(one, target)
                continue
            try:
                os.link(one, target, follow_symlinks=False)
            except OSError:
                shutil.copy2(one, target, follow_symlinks=False)


def _remove(entry: Path) -> None:
    """Removes what is no entry but has the name of one. What is in another user's folder may stay, by another name."""
    if entry.is_symlink() or not entry.is_dir():
        entry.unlink()
        return
    away = tempfile.mkdtemp(prefix=f".{entry.name}.", dir=entry.parent)
    entry.rename(away)
    shutil.rmtree(away, ignore_errors=True)


def collect() -> None:
    """Removes what no output base has asked for since long ago, and what killed programs have left.

    Raises OSError.
    """
    try:
        store, lock = _open()
    except (LauncherError, OSError):  # check() says it
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    else:
        for path in store.iterdir():
            limit = _DAY if path.name == DOWNLOADS else _UNUSED_AFTER
            found = path.lstat()
            unused = time.time() - found.st_mtime > limit
            if stat.S_ISDIR(found.st_mode) and (unused or path.name.startswith(".")):
                shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
