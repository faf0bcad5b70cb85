"""One program under gdb: starts the emulator that it runs in, gdb beside it, and ends both."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.emulate import process

# Where the modules that run inside gdb are found: the root of the runfiles.
ROOT = Path(__file__).resolve().parents[2]
STATUS_H = ROOT / "runtime_bm/base/status.h"
_CONNECT_SECONDS = 20.0


class DebugError(Exception):
    """The session could not be held; the message is one sentence for the user."""


@dataclasses.dataclass(frozen=True)
class Program:
    """An image to debug.

    Attributes:
      board: what it was linked for.
      elf: the image with symbols.
      reports: report.json of every model in it.
      run: command that runs it without a debugger.
      wait: the same, waiting for gdb at the socket `{socket}`; () for a program of this machine.
      deadline: seconds that a run without a person may take.
    """

    board: str
    elf: str
    reports: tuple[str, ...]
    run: tuple[str, ...]
    wait: tuple[str, ...]
    deadline: float

    @staticmethod
    def of(data: dict[str, Any]) -> Program:
        return Program(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})

    def report(self, model: str) -> dict[str, Any]:
        """Returns the report of a model, of the first one for ""; raises DebugError."""
        for path in self.reports:
            report: dict[str, Any] = json.loads(Path(path).read_text())
            if model in ("", report["name"]):
                return report
        raise DebugError(f"the image has no model {model or 'at all'}")


def interactive(gdb: str, program: Program, commands: Sequence[str]) -> int:
    """Gives the terminal to gdb after it has run `commands`; returns its exit status."""
    with _waiting(program, None) as target, _script([*target, *commands]) as script:
        # Ctrl-C is for gdb. A handler, because what is ignored stays ignored in a child.
        previous = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            return subprocess.call(
                [gdb, "-nx", "-q", "-x", script, program.elf], env=_environment()
            )
        finally:
            signal.signal(signal.SIGINT, previous)


def batch(gdb: str, program: Program, commands: Sequence[str]) -> str:
    """Runs `commands` in gdb and returns what it printed; raises DebugError when one fails."""
    with (
        _waiting(program, subprocess.DEVNULL) as target,
        _script([*target, *commands]) as script,
    ):
        try:
            done = subprocess.run(
                [gdb, "-nx", "-q", "--batch", program.elf, "-x", script],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                env=_environment(),
                timeout=program.deadline,
            )
        except subprocess.TimeoutExpired:
            raise DebugError(f"gdb did not end within {program.deadline:g} s") from None
    if done.returncode != 0:
        # What the failed command said, if it was one; then the program ends.
        _, script_failed, said = done.stdout.partition("Error in sourced command file:\n")
        lines = [line for line in (said or done.stdout).splitlines() if line.strip()]
        raise DebugError(lines[0] if script_failed else "\n".join(["gdb failed:", *lines]))
    return done.stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


@contextlib.contextmanager
def _waiting(program: Program, console: int | None) -> Iterator[list[str]]:
    """Starts the program so that it waits for gdb; yields gdb's commands that get it there."""
    setup = [
        "set pagination off",
        "set confirm off",
        "set max-value-size unlimited",
        f"python import sys; sys.path.insert(0, {str(ROOT)!r})",
        "python from tools.debug.inside import commands",
        f"python commands.setup({list(program.reports)!r}, {str(STATUS_H)!r})",
    ]
    if workspace := os.environ.get("BUILD_WORKSPACE_DIRECTORY"):
        setup.append(f"directory {workspace}")
    if not program.wait:
        yield [*setup, "set startup-with-shell off", "set disable-randomization off", "starti"]
        return
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "gdb"
        argv = [word.replace("{socket}", str(socket)) for word in program.wait]
        emulator = process.start(argv, stdout=console)
        try:
            _await(socket, emulator)
            yield [*setup, f"target remote {socket}"]
        finally:
            process.end(emulator)


def _await(socket: Path, emulator: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _CONNECT_SECONDS
    while not socket.exists():
        if emulator.poll() is not None:
            raise DebugError(f"the emulator ended with exit status {emulator.returncode} at once")
        if time.monotonic() > end:
            raise DebugError(f"the emulator offered no gdb stub within {_CONNECT_SECONDS:g} s")
        time.sleep(0.05)


@contextlib.contextmanager
def _script(commands: Sequence[str]) -> Iterator[str]:
    """A file of gdb commands: unlike -ex, the first that fails ends it."""
    with tempfile.NamedTemporaryFile("w", suffix=".gdb", encoding="utf-8") as file:
        file.write("\n".join(commands) + "\n")
        file.flush()
        yield file.name
