"""Runs commands in a root, in their own namespaces, and reports what each took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.cli import UserError

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Job:
    """The input of inside.py.

    root, checkout: folders. shared: folders of this machine, mounted read-only at the same place.
    environment: all of it. commands: for the shell, run one after another in the checkout.
    """

    root: str
    checkout: str
    shared: list[str]
    environment: dict[str, str]
    commands: list[str]


@dataclass(frozen=True)
class Result:
    """What a command took; megabytes: how much the root has grown."""

    command: str
    status: int
    seconds: float
    megabytes: int


def namespaces() -> list[str]:
    """The command prefix that gives a command its own mounts and processes, as root there.

    Raises UserError if this user may not have them.
    """
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    if os.getuid() != 0:
        command += ["--user", "--map-root-user", "--map-auto"]
    try:
        tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
        reason = tried.stderr.strip() if tried.returncode else ""
    except FileNotFoundError:
        reason = "`unshare` is not on PATH"
    if reason:
        raise UserError(
            f"Cannot create namespaces ({reason}): install uidmap, give this user a line in "
            "/etc/subuid and /etc/subgid, and let users make namespaces; or be root."
        )
    return command


def home_of(python: Path) -> Path:
    """The folder that contains an interpreter and all it needs; raises UserError."""
    command = [str(python), "-I", "-c", "import sys; print(sys.base_prefix)"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        answer = ""
    home = Path(answer.strip())
    if not (home / "bin" / python.name).is_file():
        raise UserError(f"{python} is not an interpreter in its own folder: name another.")
    if home in (Path("/usr"), Path("/usr/local")):
        raise UserError(f"{python} belongs to this machine's system: name another.")
    return home


def run(job: Job, unshare: Sequence[str]) -> list[Result]:
    """The results of the commands that were run."""
    reading, writing = os.pipe()
    inside = [sys.executable, "-I", str(HERE / "inside.py"), str(writing), json.dumps(asdict(job))]
    with os.fdopen(reading) as lines, subprocess.Popen([*unshare, *inside], pass_fds=[writing]):
        os.close(writing)
        return [Result(**json.loads(line)) for line in lines]


def table(title: str, results: Sequence[Result]) -> str:
    """A table of what the commands took."""
    width = max([len(title), *(len(result.command) for result in results)])
    lines = [f"{title:{width}}  {'seconds':>8}  {'MB':>7}  status"]
    lines += [
        f"{r.command:{width}}  {r.seconds:8.0f}  {r.megabytes:7}  {r.status}" for r in results
    ]
    return "\n".join([*lines, ""])
