"""One program under gdb: starts the emulator that it runs in, gdb beside it, and ends both."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shlex
import signal
import socket as socketlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
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
      wait: the same, waiting for gdb at the socket `{socket}`, or for OpenOCD at the port `{port}`;
        () for a program of this machine.
      server: OpenOCD and its configuration; () where gdb speaks to the emulator itself.
      path_tools: programs that the emulator looks for on PATH.
      deadline: seconds that a run without a person may take.
    """

    board: str
    elf: str
    reports: tuple[str, ...]
    run: tuple[str, ...]
    wait: tuple[str, ...]
    server: tuple[str, ...]
    path_tools: tuple[str, ...]
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
        # Leaving gdb ends the program too, instead of letting it run on.
        "define hook-quit",
        "python commands.leave()",
        "end",
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
        socket, port = Path(folder) / "gdb", _free_port() if program.server else 0
        argv = [
            w.replace("{socket}", str(socket)).replace("{port}", str(port)) for w in program.wait
        ]
        emulator = process.start(argv, process.with_tools(program.path_tools), console)
        try:
            _await(emulator, (lambda: _listens(port)) if program.server else socket.exists)
            yield [*setup, _target(program, socket, port)]
        finally:
            process.end(emulator)


def _target(program: Program, socket: Path, port: int) -> str:
    """Returns gdb's command that connects it."""
    if not program.server:
        return f"target remote {socket}"
    openocd, config = program.server
    ports = "gdb_port pipe; tcl_port disabled; telnet_port disabled; log_output /dev/null"
    argv = [openocd, "-c", f"set PORT {port}", "-f", config, "-c", ports]
    return f"target extended-remote | {shlex.join(argv)}"


def _free_port() -> int:
    with socketlib.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _listens(port: int) -> bool:
    # Not by connecting: Spike ends when the first connection does.
    table = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    return re.search(rf":{port:04X} \S+ 0A ", table) is not None


def _await(emulator: subprocess.Popen[bytes], is_ready: Callable[[], bool]) -> None:
    end = time.monotonic() + _CONNECT_SECONDS
    while not is_ready():
        if emulator.poll() is not None:
            raise DebugError(f"the emulator ended with exit status {emulator.returncode} at once")
        if time.monotonic() > end:
            raise DebugError(f"the emulator was not ready for gdb within {_CONNECT_SECONDS:g} s")
        time.sleep(0.05)


@contextlib.contextmanager
def _script(commands: Sequence[str]) -> Iterator[str]:
    """A file of gdb commands: unlike -ex, the first that fails ends it."""
    with tempfile.NamedTemporaryFile("w", suffix=".gdb", encoding="utf-8") as file:
        file.write("\n".join(commands) + "\n")
        file.flush()
        yield file.name
