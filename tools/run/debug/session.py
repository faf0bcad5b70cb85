"""Starts and ends gdb together with the program it debugs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.cli import UserError
from tools.run.debug import target
from tools.run.debug.program import Program

# The root of the runfiles, from which gdb imports the modules that run inside it.
ROOT = Path(__file__).absolute().parents[3]
STATUS_H = ROOT / "runtime_bm/base/status.h"


def interactive(gdb: str, program: Program, commands: Sequence[str]) -> int:
    """Runs `commands` in gdb, then gives it the terminal; returns its exit status."""
    with _waiting(program, None) as start, _script([*start, *commands]) as script:
        # Ctrl-C is for gdb. This needs a handler: a child would inherit an ignored signal.
        previous = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            return subprocess.call(
                [gdb, "-nx", "-q", "-x", script, program.elf], env=_environment()
            )
        finally:
            signal.signal(signal.SIGINT, previous)


def batch(gdb: str, program: Program, commands: Sequence[str]) -> str:
    """Runs `commands` in gdb and returns what it printed; raises UserError when one fails."""
    with (
        _waiting(program, subprocess.DEVNULL) as start,
        _script([*start, *commands]) as script,
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
            raise UserError(f"gdb did not end within {program.deadline:g} s") from None
    if done.returncode != 0:
        # The failed command's message, if there is one; then the program ends.
        _, script_failed, said = done.stdout.partition("Error in sourced command file:\n")
        lines = [line for line in (said or done.stdout).splitlines() if line.strip()]
        raise UserError(lines[0] if script_failed else "\n".join(["gdb failed:", *lines]))
    return done.stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


@contextlib.contextmanager
def _waiting(program: Program, console: int | None) -> Iterator[list[str]]:
    """Starts the program so that it waits for gdb; yields the gdb commands that connect to it."""
    setup = [
        "set pagination off",
        "set confirm off",
        "set max-value-size unlimited",
        # A frame is a line that a terminal need not fold; `info args` has the values.
        "set print frame-arguments presence",
        # Leaving gdb also ends the program.
        "define hook-quit",
        "python commands.leave()",
        "end",
        f"python import sys; sys.path.insert(0, {str(ROOT)!r})",
        "python from tools.run.debug.inside import commands",
        f"python commands.setup({list(program.reports)!r}, {str(STATUS_H)!r})",
    ]
    if workspace := os.environ.get("BUILD_WORKSPACE_DIRECTORY"):
        setup.append(f"directory {workspace}")
    if program.run and not program.wait:
        yield [*setup, "set startup-with-shell off", "set disable-randomization off", "starti"]
        return
    with target.started(program, console) as connect:
        yield [*setup, connect, "python commands.permit_breakpoints()"]


@contextlib.contextmanager
def _script(commands: Sequence[str]) -> Iterator[str]:
    """A file of gdb commands. Unlike with -ex, the first failure ends it."""
    with tempfile.NamedTemporaryFile("w", suffix=".gdb", encoding="utf-8") as file:
        file.write("\n".join(commands) + "\n")
        file.flush()
        yield file.name
