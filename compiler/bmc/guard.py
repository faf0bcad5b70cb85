"""Runs bmc in a child process, because frameworks are native code that crashes without a message.

This module imports nothing that starts threads, so that forking is safe.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import re
import select
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from bmc import confine, errors, supervisor
from bmc.errors import BmcError

# A frame of an installed package in faulthandler's traceback: File ".../site-packages/jax/core.py", line ...
_FRAME = re.compile(
    r'File "[^"]*/site-packages/(?!bmc/)(?P<package>\w+)[^"]*", line \d+ in (?P<function>\S+)'
)
# Packages whose frontend can tell every step of what crashed (supervisor.tells_steps).
_TELL_STEPS = ("torch_mlir",)
# An option of prctl(2).
_PARENT_DEATH_SIGNAL = 1
# The exit status if the reader of stdout has left, as a shell names the end by that signal.
NOBODY_READS = 128 + signal.SIGPIPE
# Loaded before any fork.
_LIBC = ctypes.CDLL(None, use_errno=True)


def run(command: Callable[[], int], *, outputs: Sequence[Path] | None = None) -> int:
    """Returns the exit status of `command`; raises BmcError if it crashes or takes more than a model file may.

    Args:
      outputs: if given, `command` reads data of others'. It has no network, and if root runs it, then it has none of
        root's capabilities and writes only here and into the current folder, as far as the system allows all that.
    """
    code, traceback, _ = _run(command, outputs)
    if code >= 0:
        return code
    frame = _FRAME.search(traceback)
    step = ""
    if frame and frame["package"] in _TELL_STEPS:
        again, _, step = _run(command, outputs, tells_steps=True)
        step = step if again == code else ""
    raise crash(-code, frame, step)


def _run(
    command: Callable[[], int], outputs: Sequence[Path] | None, *, tells_steps: bool = False
) -> tuple[int, str, str]:
    """Runs `command` in a child; returns its status, faulthandler's traceback and the step that it told last."""
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
            supervisor.told_through(tells, tells_steps=tells_steps)
            if outputs is not None:
                confine.confine([Path.cwd(), Path(scratch), *outputs])
            _run_child(command, traceback)
        os.close(tells)
        # Ctrl-C reaches the child too and ends it.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        watching = supervisor.Supervisor(child, told)
        try:
            status = watching.wait()
        finally:
            signal.signal(signal.SIGINT, before)
            os.close(told)
        traceback.seek(0)
        return os.waitstatus_to_exitcode(status), traceback.read(), watching.step


def end_with(parent: int) -> None:
    """Makes this process, a child, end when its parent does, however that ends."""
    _LIBC.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(errors.EXIT_INTERNAL_ERROR)


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
        # bmc itself or one of its packages is broken. command.dispatch reports everything else.
        sys.excepthook(*sys.exc_info())
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            status = NOBODY_READS
        sys.stderr.flush()
        os._exit(status)


def nobody_reads() -> bool:
    """Whether stdout is a pipe whose reader has left, as `head` does."""
    stdout = select.poll()
    stdout.register(1, 0)
    return any(events & select.POLLERR for _, events in stdout.poll(0))


def crash(number: int, frame: re.Match[str] | None, step: str = "") -> BmcError:
    """Returns the error for a process that died from signal `number`.

    Args:
      number: the signal.
      frame: the innermost function of a package, as faulthandler names it.
      step: what the package did, where that is known.
    """
    name = signal.Signals(number).name
    if number == signal.SIGKILL:
        return BmcError(
            "killed",
            f"bmc was killed by {name}, probably because memory ran out",
            hint="run fewer builds at once (--jobs), or on a machine with more memory",
        )
    who = f"the package {frame['package']}" if frame else "a native library"
    if step:
        return BmcError(
            "crashed",
            f"{who} crashed with {name} on {step}",
            hint="it crashes without bmc too: compute that part of the model with other ops, or with another type",
        )
    part = "remove parts of the model to find the op"
    if frame:
        part = f"it crashes without bmc too: {part}"
    if number == signal.SIGFPE:
        part = (
            "it crashes without bmc too, as it does where it divides constant integers by zero, or the least one"
            " by -1: take such a division out of the model"
        )
    doing = f" in {frame['function']}" if frame else ""
    return BmcError(
        "crashed",
        f"{who} crashed with {name}{doing} and gave no reason",
        hint=f"{part}, or convert the model again; --verbose shows the package's messages",
    )
