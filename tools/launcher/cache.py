"""The per-user cache: where it is, how it is locked, how folders appear in it atomically."""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from third_party.debian.errors import AptError
from tools.launcher.errors import LauncherError

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
# What the README's first command leaves behind on an empty disk (third_party/README.md).
FIRST_COMMAND_MEGABYTES = 4400


def say(message: str) -> None:
    """A line of progress. Standard output belongs to Bazel."""
    print(f"ironcast: {message}", file=sys.stderr, flush=True)


def progress(what: str) -> Callable[[int, int], None]:
    """Reports bytes done and in all every few seconds; `what` is a format for two numbers of megabytes."""
    last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > 3:
            last = time.monotonic()
            say(what.format(done // 1_000_000, total // 1_000_000))

    return tell


def cache_path() -> Path:
    """Where this user's cache folder is or would be; raises LauncherError if nothing says it."""
    base = os.environ.get("XDG_CACHE_HOME") or (
        os.environ.get("HOME", "") and os.path.join(os.environ["HOME"], ".cache")
    )
    if not base or not os.path.isabs(base):
        raise LauncherError(
            "There is no folder for downloads: set HOME or XDG_CACHE_HOME to a writable folder."
        )
    if "\n" in base or "\r" in base:  # an rc file of Bazel's cannot name it
        raise LauncherError(
            f"There is a line break in the cache folder's name {base!r}: set XDG_CACHE_HOME to another folder."
        )
    return Path(base) / "ironcast"


def cache_dir() -> Path:
    """This user's cache folder, created if necessary.

    Raises LauncherError if that fails, and for a folder that others could have put programs into.
    """
    cache = cache_path()
    try:
        make_folder(cache)
        reason = refusal(cache)
    except OSError as error:
        raise LauncherError(
            f"The cache folder {cache} cannot be created ({error.strerror}): set "
            "XDG_CACHE_HOME to a writable folder."
        ) from error
    if reason:
        raise LauncherError(f"The cache folder {cache} {reason}.")
    return cache


def make_folder(folder: Path) -> None:
    """Creates a folder and those above it, for this user alone whatever the umask is; raises OSError."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def refusal(folder: Path) -> str:
    """Why what is in this folder may be another user's, and what to do, or ""; raises OSError."""
    # A link may name another disk, but another user's link could name anything.
    if any(found.st_uid != os.geteuid() for found in (folder.lstat(), folder.stat())):
        return "belongs to another user: remove it, or set XDG_CACHE_HOME to a folder of your own"
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o022:
        return (
            f"can be written by others (mode {mode:o}), and Ironcast runs what is in it: if nobody else has written "
            f"there, run `chmod go-w {shlex.quote(str(folder))}`; else remove it, or set XDG_CACHE_HOME to a folder "
            "of your own"
        )
    return ""


def private_folder(folder: Path) -> Path:
    """Returns `folder`, which only this user can enter, created if necessary; raises LauncherError."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if reason := refusal(folder):
            raise LauncherError(f"{folder} {reason}.")
        if stat.S_IMODE(folder.stat().st_mode) != 0o700:
            folder.chmod(0o700)
    except OSError as error:
        raise LauncherError(
            f"{folder} cannot be made a folder of this user's alone ({error.strerror}): remove it, "
            "or set XDG_CACHE_HOME to a writable folder."
        ) from error
    return folder


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file that others may be reading or writing at this moment: it appears by one rename."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.unlink(missing_ok=True)
        with partial.open("xb") as file:  # does not follow a link
            file.write(data)
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def keep(path: Path, data: bytes) -> None:
    """Writes a file whole, unless it is there with this content."""
    if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
        write_whole(path, data)


def open_lock(path: Path) -> int:
    """Opens a lock, created if necessary; raises OSError, also for a link, whose target is no lock."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


@contextmanager
def locked(cache: Path, name: str = "lock") -> Iterator[None]:
    """Holds a lock of the cache. A second caller prints that it waits. The kernel frees the lock if we die."""
    try:
        lock = open_lock(cache / name)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise LauncherError(f"{cache / name} is a link and not a lock: remove it.") from error
        raise LauncherError(
            f"The cache folder {cache} is not writable ({error.strerror}): set "
            "XDG_CACHE_HOME to a folder that is."
        ) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another tools/bazel that is filling {cache}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def fill_once(final: Path, fill: Callable[[Path], None], megabytes: int = 1) -> None:
    """Creates the folder `final` by calling fill(temporary folder), unless it exists.

    `final` appears by one rename, so it is either absent or complete. Call this with the lock held.
    megabytes: the most space that fill needs. Raises LauncherError, also for a full disk.
    """
    if final.is_dir():
        return
    for stale in final.parent.glob(f".{final.name}.*"):  # left by a process that was killed
        shutil.rmtree(stale, ignore_errors=True)
    if _free_megabytes(final.parent) < megabytes:
        raise _disk_full(final, megabytes)
    work = Path(tempfile.mkdtemp(prefix=f".{final.name}.", dir=final.parent))
    try:
        fill(work)
        work.chmod(0o755)
        work.rename(final)
    except (OSError, AptError) as error:
        if is_full(error):
            raise _disk_full(final, megabytes) from error
        if isinstance(error, AptError):
            raise
        raise LauncherError(f"{final} could not be written ({error}).") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def warn_of_small_disk(cache: Path) -> None:
    """Warns, before Bazel is fetched, if there is less space than the README's first command takes.

    Bazel keeps what it fetches and builds next to `cache`.
    """
    if (free := _free_megabytes(cache)) < FIRST_COMMAND_MEGABYTES:
        say(
            f"{free} MB are free on the disk of {cache}, and the README's first command takes "
            f"{FIRST_COMMAND_MEGABYTES} MB; XDG_CACHE_HOME may name a folder on a larger disk"
        )


def _free_megabytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free // 1_000_000


def disk_full(folder: Path) -> LauncherError:
    """The error for a disk that was filled while something was fetched to `folder`."""
    return LauncherError(
        f"The disk of {folder} is full: make room, or set XDG_CACHE_HOME to a folder on a larger disk, and run "
        "the same command again."
    )


def _disk_full(final: Path, megabytes: int) -> LauncherError:
    """The error for too little space for the folder `final`, which needs up to `megabytes`."""
    return LauncherError(
        f"The disk of {final.parent} is full: {final.name} needs {megabytes} MB there and "
        f"{_free_megabytes(final.parent)} MB are free. Make room, or set XDG_CACHE_HOME to a folder on a larger disk."
    )


def is_full(error: Exception) -> bool:
    """Whether a full disk caused an error; for programs such as apt, tar and uv only the message tells."""
    if isinstance(error, OSError):
        return error.errno in DISK_FULL
    words = ("No space left", "enough free space", "quota exceeded", "Wrote only")
    return any(word in str(error) for word in words)
