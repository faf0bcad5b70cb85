"""What every method is given, and what it offers."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tools.cli import UserError
from tools.flash import trust
from tools.flash.board import Board, Settings
from tools.flash.image import Image
from tools.flash.trust import Code


class Console(Protocol):
    """Where the board's console can be read."""

    def read(self) -> bytes:
        """Bytes that have come, none after a short while without any."""


class Progress(Protocol):
    """Sees how far a transfer is."""

    def __call__(self, done: int, total: int) -> None: ...


@dataclasses.dataclass(frozen=True)
class Job:
    """One flashing: `port` is the serial port, disk, file or probe that the user named."""

    image: Image
    board: Board
    settings: Settings
    port: str
    verify: bool
    work: Path
    tools: Mapping[str, str]
    say: Callable[[str], None]
    progress: Progress
    wait_seconds: float = 30
    folder: Path = Path()
    tftp_root: Path | None = None
    tftp_server: str = ""
    allow_code: bool = False
    confirm: Callable[[Code], None] = trust.confirm

    def tool(self, name: str) -> str:
        """An external program: the one given by --tool, else from PATH."""
        found = self.tools.get(name) or shutil.which(name)
        if not found:
            raise UserError(f"{name} is needed and not on PATH: install it, or name it by --tool")
        return found

    def need_port(self, what: str) -> str:
        """The port; UserError says what it must be when none was named."""
        if not self.port:
            raise UserError(f"name {what} with --port; --list shows what there is")
        return self.port

    def target(self, what: str) -> Path:
        """The file, folder or disk that the user named, seen from where the command was given."""
        return self.folder / self.need_port(what)


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done: the line that a dry run prints, and what a run calls in its place.

    `do` raises UserError when it fails.
    """

    text: str
    do: Callable[[], object]


class Runner(Protocol):
    """A method: the steps that write, verify and start an image."""

    # Whether `console` has something after the last step.
    has_console: bool

    def __init__(self, job: Job) -> None: ...

    def steps(self) -> list[Step]:
        """Everything that is done, in order. Until a step is done nothing is written or started."""

    def console(self) -> Console | None:
        """The board's console after the last step, when this method has it."""


def command(
    argv: Sequence[str],
    recovery: str,
    env: Mapping[str, str] | None = None,
    after: Callable[[], object] = lambda: None,
) -> Step:
    """A step that runs an external program, printed as one could type it; `after` follows success."""

    def run() -> None:
        start(argv, recovery, env)
        after()

    variables = [f"{name}={shlex.quote(value)}" for name, value in (env or {}).items()]
    return Step(" ".join([*variables, shlex.join(argv)]), run)


def start(argv: Sequence[str], recovery: str, env: Mapping[str, str] | None = None) -> None:
    """Runs an external program; UserError with its last words."""
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=None if env is None else {**os.environ, **env},
        )
    except OSError as error:
        raise UserError(f"cannot start {argv[0]}: {error.strerror}") from error
    if done.returncode != 0:
        lines = [line for line in done.stdout.strip().splitlines() if line.strip()]
        last = " / ".join(lines[-3:]) or "nothing was printed"
        raise UserError(
            f"{Path(argv[0]).name} ended with status {done.returncode} ({last}); {recovery}"
        )
