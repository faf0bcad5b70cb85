"""Runs one emulator to its end or deadline, and never leaves it running."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType

from tools.cli import UserError
from tools.run import result
from tools.run.deadline import Deadline

MAX_LINES = 200_000  # a firmware that prints in a loop must not fill the memory
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    # If this process is killed outright, its handlers do not run, so the kernel ends the
    # emulator. Only Linux can do this; elsewhere the deadline in the emulator's caller remains.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def start(
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    stdout: int | None = subprocess.PIPE,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Starts `argv` in its own process group, by default with no input; `end` must follow.

    Raises UserError when the program cannot be started.
    """
    program = Path(argv[0])
    if not program.exists():
        raise UserError(
            f"emulator {argv[0]} does not exist: build its target, or name your own with the "
            "variables listed in third_party/README.md"
        )
    try:
        return subprocess.Popen(
            list(argv),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            env=None if env is None else dict(env),
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    except OSError as error:
        raise UserError(f"cannot start {argv[0]}: {error.strerror}") from error


def with_tools(tools: Sequence[str]) -> dict[str, str]:
    """Returns this process's environment with `tools` found on PATH, as Spike finds `dtc`."""
    folders = [str(Path(t).absolute().parent) for t in tools]
    return {**os.environ, "PATH": os.pathsep.join([*folders, os.environ.get("PATH", "")])}


def run(
    argv: Sequence[str],
    deadline_seconds: float,
    on_line: Callable[[str], None] = lambda line: None,
    env: Mapping[str, str] | None = None,
) -> result.Outcome:
    """Runs `argv` with no input and returns its console lines and exit status.

    `deadline_seconds` are seconds in which it computes, or waits (tools/run/deadline.py). `on_line` gets each line
    as it arrives. Raises UserError when the program cannot be started.
    """
    process = start(argv, env)

    def end_all(signum: int, _frame: FrameType | None) -> None:
        end(process)
        sys.exit(128 + signum)

    previous = {s: signal.signal(s, end_all) for s in (signal.SIGTERM, signal.SIGINT)}
    try:
        lines, in_time = _read_lines(process, deadline_seconds, on_line)
        if not in_time:
            return result.Outcome(tuple(lines), None)
        return result.Outcome(tuple(lines), process.wait())
    finally:
        end(process)
        for signum, handler in previous.items():
            signal.signal(signum, handler)


def _read_lines(
    process: subprocess.Popen[bytes], deadline_seconds: float, on_line: Callable[[str], None]
) -> tuple[list[str], bool]:
    """Reads until the program ends (True) or the deadline passes (False)."""
    assert process.stdout is not None
    deadline = Deadline(process.pid, deadline_seconds)
    lines: list[str] = []
    rest = b""

    def add(raw: bytes) -> None:
        if len(lines) >= MAX_LINES:
            raise UserError(f"the firmware printed more than {MAX_LINES} lines; ended it")
        line = raw.decode("utf-8", "replace").rstrip("\r")
        lines.append(line)
        on_line(line)

    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if deadline.passed():
                if rest:
                    add(rest)
                return lines, False
            if not selector.select(deadline.pause):
                continue
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                break
            *whole, rest = (rest + chunk).split(b"\n")
            for raw in whole:
                add(raw)
    if rest:
        add(rest)
    while not deadline.passed():
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(deadline.pause)
            return lines, True
    return lines, False


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that `start` returned, and everything it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
