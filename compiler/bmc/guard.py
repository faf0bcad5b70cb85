"""Runs bmc in a child process, because frameworks are native code that crashes without a message.

This module imports nothing that starts threads, so that forking is safe.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from bmc import errors, supervisor
from bmc.errors import BmcError

# A frame of an installed package in faulthandler's traceback: File ".../site-packages/jax/core.py", line ...
_FRAME = re.compile(
    r'File "[^"]*/site-packages/(?!bmc/)(?P<package>\w+)[^"]*", line \d+ in (?P<function>\S+)'
)
# Flags of unshare(2).
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
# An option of prctl(2).
_PARENT_DEATH_SIGNAL = 1
# Loaded before any fork.
_LIBC = ctypes.CDLL(None, use_errno=True)


def run(command: Callable[[], int], *, offline: bool = False) -> int:
    """Returns the exit status of `command`; raises BmcError if it crashes or takes more than a model file may.

    With `offline` it has no network, if the system lets ordinary programs give that up.
    """
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as traceback,
        # Whatever ends the child, its temporary files end too.
        tempfile.TemporaryDirectory(prefix="bmc-") as scratch,
    ):
        told, tells = os.pipe()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            end_with(parent)
            os.environ["TMPDIR"] = tempfile.tempdir = scratch
            supervisor.told_through(tells)
            if offline:
                _leave_network()
            _run_child(command, traceback)
        os.close(tells)
        # Ctrl-C reaches the child too and ends it.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            status = supervisor.Supervisor(child, told).wait()
        finally:
            signal.signal(signal.SIGINT, before)
            os.close(told)
        code = os.waitstatus_to_exitcode(status)
        if code >= 0:
            return code
        traceback.seek(0)
        raise crash(-code, traceback.read())


def end_with(parent: int) -> None:
    """Makes this process, a child, end when its parent does, however that ends."""
    _LIBC.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(errors.EXIT_INTERNAL_ERROR)


def _leave_network() -> None:
    """Moves this process into an empty network namespace."""
    user, group = os.getuid(), os.getgid()
    unshare = _LIBC.unshare
    # Only root may create a network namespace without a user namespace.
    if unshare(_NEW_NETWORK) != 0 and unshare(_NEW_NETWORK | _NEW_USER) == 0:
        with contextlib.suppress(OSError):
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")


def _run_child(command: Callable[[], int], traceback: IO[str]) -> None:
    status = errors.EXIT_INTERNAL_ERROR
    try:
        faulthandler.enable(traceback, all_threads=False)
        status = command()
    except SystemExit as usage:
        status = int(usage.code or 0)
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    except Exception:
        # bmc itself or one of its packages is broken. cli.main reports everything else.
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def crash(number: int, traceback: str) -> BmcError:
    """Returns the error for a process that died from signal `number`, given faulthandler's traceback."""
    name = signal.Signals(number).name
    if number == signal.SIGKILL:
        return BmcError(
            "killed",
            f"bmc was killed by {name}, probably because memory ran out",
            hint="run fewer builds at once (--jobs), or on a machine with more memory",
        )
    part = "it crashes without bmc too: remove parts of the model to find the op"
    if number == signal.SIGFPE:
        part = (
            "it crashes without bmc too, as it does where it divides constant integers by zero, or the least one"
            " by -1: take such a division out of the model"
        )
    frame = _FRAME.search(traceback)
    who = f"the package {frame['package']}" if frame else "a native library"
    doing = f" in {frame['function']}" if frame else ""
    return BmcError(
        "crashed",
        f"{who} crashed with {name}{doing} and gave no reason",
        hint=f"{part}, or convert the model again; --verbose shows the package's messages",
    )
