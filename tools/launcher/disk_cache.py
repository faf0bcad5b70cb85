"""Bazel's disk cache: results of actions, for all of a user's checkouts, kept below a size.

Bazel itself would collect only in a server that stays idle for a while, and its option for the size would
also hold for a cache of the user's own. So the launcher collects. Bazel takes the lock in the cache when it
collects, and not when it builds. The launcher takes it for a build, so nobody collects meanwhile.
"""

from __future__ import annotations

import fcntl
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.launcher.cache import open_lock, private_folder, say
from tools.launcher.errors import LauncherError

VARIABLE = "IRONCAST_CACHE_GIGABYTES"
# The results of all tests take 6.
_DEFAULT = "10"
_COLLECT_AFTER = 3600.0  # seconds


@dataclass(frozen=True)
class DiskCache:
    """A folder that Bazel keeps results in.

    limit: bytes that it may take. lock: its lock, an open file; its time is that of the last collection.
    """

    folder: Path
    limit: int
    lock: int

    def options(self) -> list[str]:
        """Bazel's options for the cache.

        With `all`, what a build has made does not depend on what stays in the cache. Otherwise 7.7.1 fails
        when it misses a result that it has left there.
        """
        return [f"--disk_cache={self.folder}", "--remote_download_outputs=all"]

    def hold(self) -> None:
        """Keeps collections away until this process ends, also after it has become Bazel."""
        os.set_inheritable(self.lock, True)
        try:
            fcntl.lockf(self.lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            say(f"waiting until old results are removed from {self.folder}")
            fcntl.lockf(self.lock, fcntl.LOCK_SH)

    def is_due(self) -> bool:
        """Whether the last collection was long ago."""
        return time.time() - os.fstat(self.lock).st_mtime > _COLLECT_AFTER

    def collect(self) -> None:
        """Removes what was used least recently until `limit` bytes are left, unless a build is running."""
        try:
            fcntl.lockf(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        try:
            self._remove()
        finally:
            # Also after a failure: the next command does not try again.
            os.utime(self.lock)
            fcntl.lockf(self.lock, fcntl.LOCK_UN)

    def _remove(self) -> None:
        total, files = 0, []
        for name, _, names in os.walk(self.folder):
            total += os.lstat(name).st_blocks * 512
            for path in (Path(name, one) for one in names):
                stat = path.lstat()
                total += stat.st_blocks * 512
                if path != self.folder / "gc/lock":
                    files.append((stat.st_mtime_ns, path, stat.st_blocks * 512))
        # Bazel renews a file's time when it uses it.
        for _, path, taken in sorted(files):
            if total <= self.limit:
                break
            path.unlink(missing_ok=True)
            total -= taken


def limit_of(env: Mapping[str, str]) -> int:
    """Returns how many bytes the cache may take; 0: there is none. Raises LauncherError."""
    said = env.get(VARIABLE) or _DEFAULT
    try:
        gigabytes = float(said)
    except ValueError:
        gigabytes = math.nan
    if not 0 <= gigabytes < math.inf:
        raise LauncherError(
            f"{VARIABLE} is {said!r}: set it to the gigabytes that results of builds may take, "
            "or to 0 to keep none."
        )
    return int(gigabytes * 1e9)


def open_cache(cache: Path, limit: int) -> DiskCache | None:
    """Returns the cache, or None if results are not to be kept, or cannot be; then it says so."""
    if not limit:
        return None
    try:
        folder = private_folder(cache / "disk")
        (folder / "gc").mkdir(mode=0o700, exist_ok=True)
        lock = open_lock(folder / "gc/lock")
    except (LauncherError, OSError) as error:
        say(f"results of builds are not kept: {error}")
        return None
    return DiskCache(folder, limit, lock)
