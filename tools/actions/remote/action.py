"""Stands for bubblewrap before BuildBox: one action, with limits.

BuildBox gives the action no limits. What takes more is ended, and the action's output says why.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import resource
import signal
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

_LOOK_SECONDS = 0.25
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Fields of /proc/PID/stat behind the program's name.
_THREADS, _RESIDENT = 17, 21
# Options of bubblewrap that BuildBox uses, and how many arguments follow each.
_OPTIONS = {
    **dict.fromkeys(("--bind", "--dev-bind", "--ro-bind", "--setenv"), 2),
    **dict.fromkeys(
        ("--cap-add", "--cap-drop", "--chdir", "--dev", "--dir", "--gid", "--hostname"), 1
    ),
    **dict.fromkeys(("--proc", "--tmpfs", "--uid", "--unsetenv"), 1),
    **dict.fromkeys(("--die-with-parent", "--unshare-ipc", "--unshare-net", "--unshare-pid"), 0),
    **dict.fromkeys(("--unshare-user", "--unshare-uts"), 0),
}
_NOTHING = {"PATH": "/usr/bin:/bin"}
# Inside, where only the action's own threads count. A limit that is lower already stays. The action's environment comes
# last, because shells and loaders do what some variables say.
_LIMITED = 'ulimit -u "$0" 2> /dev/null; exec env -i -- "$@"'
# Files are looked at for a twentieth of the time, at most, and not in an action's first second.
_WALK_SHARE, _WALK_SECONDS = 20, 1.0
# What /proc calls a file that has no name and lies in memory.
_IN_MEMORY = "/memfd:"
# A filter of seccomp(2) in BPF: code, steps if true, steps if not, number. Nobody makes shared memory, queues or
# semaphores of System V, which need no process and cannot be counted from outside. The calls are those of Linux for
# x86-64 (shmget 29, semget 64, msgget 68; those of x32 begin at 2**30) and for i386 (ipc 117, semget 393, shmget 395,
# msgget 399).
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ARCHITECTURE, _NUMBER = 4, 0
_X86_64, _X32 = 0xC000003E, 1 << 30
_ALLOW, _NOT_THERE = 0x7FFF0000, 0x00050000 | errno.ENOSYS
_FILTER = (
    (_LOAD, 0, 0, _ARCHITECTURE),
    (_EQUAL, 0, 6, _X86_64),
    (_LOAD, 0, 0, _NUMBER),
    (_AT_LEAST, 9, 0, _X32),
    (_EQUAL, 8, 0, 29),
    (_EQUAL, 7, 0, 64),
    (_EQUAL, 6, 0, 68),
    (_RETURN, 0, 0, _ALLOW),
    (_LOAD, 0, 0, _NUMBER),
    (_EQUAL, 3, 0, 117),
    (_EQUAL, 2, 0, 393),
    (_EQUAL, 1, 0, 395),
    (_EQUAL, 0, 1, 399),
    (_RETURN, 0, 0, _NOT_THERE),
    (_RETURN, 0, 0, _ALLOW),
)


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one action may take; the names are those of the worker's options.

    Attributes:
      output: bytes that it writes, all files together, and those of its /tmp and of its /dev/shm.
      files: files and folders that it makes, those of its /tmp and of its /dev/shm among them.
      processes: processes and threads at a time.
      memory: bytes of memory of all its processes at a time.
      seconds: how long it may take.
    """

    output: int = 2 << 30
    files: int = 100_000
    processes: int = 512
    memory: int = 8 << 30
    seconds: int = 3600


class ActionError(Exception):
    """One sentence for the user."""


def confined(arguments: Sequence[str], limits: Limits) -> list[str]:
    """Returns bubblewrap's arguments with what the limits and a /proc/sys that nobody writes need."""
    made: list[str] = []
    environment: list[str] = []
    at = 0
    while at < len(arguments) and arguments[at].startswith("--"):
        option = arguments[at]
        if option not in _OPTIONS:
            raise ActionError(
                f"BuildBox gives bubblewrap {option}, which this worker does not know"
            )
        words = arguments[at : at + 1 + _OPTIONS[option]]
        at += len(words)
        if option == "--setenv":
            environment.append("=".join(words[1:]))
        if option in ("--setenv", "--unsetenv"):
            continue
        size = ["--size", str(limits.output), "--tmpfs"]
        if option == "--tmpfs":
            made += size[:2]
        made += words
        if option == "--dev":
            made += [*size, f"{words[1]}/shm", "--remount-ro", words[1]]
        if option == "--proc":
            made += ["--ro-bind", "/proc/sys", f"{words[1]}/sys"]
    if "=" in arguments[at]:
        raise ActionError(f"the program {arguments[at]!r} has a = in its name")
    limited = ["/bin/bash", "-c", _LIMITED, str(limits.processes)]
    return [*made, *limited, *environment, *arguments[at:]]


def run(bwrap: str, arguments: Sequence[str], limits: Limits) -> int:
    """Returns the exit status of an action; raises ActionError, after it has ended it, if it takes too much."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.output, limits.output))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    root = _root(arguments)
    watch = Watch(limits, root)
    # An action can read what bubblewrap was started with: it is process 1 there.
    calls = _filter()
    words = [bwrap, "--seccomp", str(calls), *confined(arguments, limits)]
    action = subprocess.Popen(words, env=_NOTHING, preexec_fn=limit, pass_fds=[calls])
    os.close(calls)
    while True:
        try:
            status = action.wait(_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            if over := watch.look(action.pid):
                action.kill()
                action.wait()
                raise over from None
        else:
            if root and root.stat().st_dev == root.parent.stat().st_dev:
                _open_folders(root)
            if status in (-signal.SIGXFSZ, 128 + signal.SIGXFSZ):
                raise _too_much("writes a file of more than", _size(limits.output), "output")
            return status if status >= 0 else 128 - status


def _filter() -> int:
    """Returns an open file with the filter of system calls."""
    reader, writer = os.pipe()
    with open(writer, "wb") as program:
        for instruction in _FILTER:
            program.write(struct.pack("=HBBI", *instruction))
    return reader


def _root(arguments: Sequence[str]) -> Path | None:
    """The folder that the action sees as its root."""
    for option, folder, place in zip(arguments, arguments[1:], arguments[2:], strict=False):
        if (option, place) == ("--bind", "/"):
            return Path(folder)
    return None


def _open_folders(root: Path) -> None:
    """Lets BuildBox into the folders that an action closed: it ends where it cannot remove its copy of the inputs."""
    for folder, names, _ in os.walk(root):
        for path in (os.path.join(folder, name) for name in names):
            with contextlib.suppress(OSError):
                mode = os.lstat(path).st_mode
                if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
                    os.chmod(path, stat.S_IRWXU)


class Watch:
    """Looks at what an action takes; `root` is the folder that it writes to."""

    def __init__(self, limits: Limits, root: Path | None) -> None:
        self._limits = limits
        self._root = root
        self._begun = time.time()
        self._end = time.monotonic() + limits.seconds
        self._look_at = limits.output
        self._walk_at = time.monotonic() + _WALK_SECONDS

    def look(self, process: int) -> ActionError | None:
        """Returns what is wrong with a process and all that it has started."""
        limits = self._limits
        threads = memory = passed = 0
        unnamed: dict[tuple[int, int], tuple[int, bool]] = {}
        for one in tree(process):
            # A process that ends meanwhile takes nothing.
            with contextlib.suppress(OSError, IndexError, ValueError):
                status = Path(f"/proc/{one}/stat").read_text(errors="replace")
                fields = status.rpartition(")")[2].split()
                threads += int(fields[_THREADS])
                memory += int(fields[_RESIDENT]) * _PAGE
                # With those of its children that have ended.
                counted = Path(f"/proc/{one}/io").read_text()
                passed += int(counted.partition("wchar: ")[2].split()[0])
                unnamed |= _unnamed(one)
        memory += sum(size for size, in_memory in unnamed.values() if in_memory)
        written = sum(size for size, in_memory in unnamed.values() if not in_memory)
        if time.monotonic() > self._end:
            return _too_much("takes more than", f"{limits.seconds} s", "seconds")
        if memory > limits.memory:
            return _too_much("takes more than", f"{_size(limits.memory)} of memory", "memory")
        if threads > limits.processes:
            what = f"{limits.processes} processes and threads"
            return _too_much("starts more than", what, "processes")
        # Pipes count too, and looking at all files takes long.
        if passed > self._look_at or written > limits.output or time.monotonic() > self._walk_at:
            self._look_at = passed + limits.output // 4
            made, of_files = self._made(process)
            if of_files + written > limits.output:
                return _too_much("writes more than", _size(limits.output), "output")
            if made > limits.files:
                return _too_much("makes more than", f"{limits.files} files and folders", "files")
        return None

    def _made(self, process: int) -> tuple[int, int]:
        """Returns how many files and folders are newer than the action, and the bytes of those that are in its root."""
        begun = time.monotonic()
        made = total = 0
        for top in self._tops(process):
            for folder, folders, names in os.walk(top):
                for name in (*folders, *names):
                    try:
                        status = os.lstat(os.path.join(folder, name))
                    except OSError:
                        continue
                    if max(status.st_mtime, status.st_ctime) >= self._begun:
                        made += 1
                        # What is in memory has a size of its own.
                        if top == self._root and not stat.S_ISDIR(status.st_mode):
                            total += status.st_size
        now = time.monotonic()
        self._walk_at = now + max(_WALK_SECONDS, _WALK_SHARE * (now - begun))
        return made, total

    def _tops(self, process: int) -> Iterator[Path]:
        """Yields the folder that the action writes to, and its folders in memory, which are seen from inside."""
        if self._root is None:
            return
        yield self._root
        for one in tree(process):
            inside = Path(f"/proc/{one}/root")
            with contextlib.suppress(OSError):
                if inside.samefile(self._root):
                    yield inside / "tmp"
                    yield inside / "dev/shm"
                    return


def _unnamed(process: int) -> dict[tuple[int, int], tuple[int, bool]]:
    """Returns the open files of a process that have no name: device and number -> bytes, and whether in memory."""
    found = {}
    for opened in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            status = opened.stat()
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                in_memory = os.readlink(opened).startswith(_IN_MEMORY)
                found[status.st_dev, status.st_ino] = (512 * status.st_blocks, in_memory)
    return found


def tree(process: int) -> Iterator[int]:
    """Yields a process and all that it and those have started."""
    yield process
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))
    except OSError:
        return


def _too_much(what: str, amount: str, limit: str) -> ActionError:
    return ActionError(
        f"the action {what} {amount}, which this worker allows; whoever runs it may allow more with --{limit}"
    )


def _size(size: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} bytes"


def main(arguments: Sequence[str]) -> int:
    """BWRAP LIMITS ARGUMENT..., where LIMITS is JSON and the rest is for bubblewrap."""
    bwrap, limits, *rest = arguments
    try:
        return run(bwrap, rest, Limits(**json.loads(limits)))
    except ActionError as error:
        print(f"worker: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
