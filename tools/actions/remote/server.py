"""Runs BuildBox's server, and starts it again when a request keeps it busy for good.

BuildBox bounds no request, and goes on with one whose client has left: folders that hold each other many times over,
such as 40 that hold the next one twice, are 2**40 to GetTree and StageTree.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.actions.remote.action import tree
from tools.cli import complain

# How long a request may compute. The longest that serve a build write or hash a few gigabytes.
BUSY_SECONDS = 600.0
_LOOK_SECONDS = 1.0
_END_SECONDS = 10.0
# What /proc calls a thread that computes or waits for a processor or a disk, and how many such looks one undoes that
# finds it waiting: a request without an end may wait for a lock now and then, and others wait for their client.
_BUSY, _WAITING_WEIGHT = "RD", 10


def serve(command: Sequence[str], environment: Mapping[str, str], program: str) -> int:
    """Runs a command until it ends; returns its exit status.

    Args:
      command: what starts the server.
      environment: the command's variables.
      program: the name of the server's program, which the command starts; so may the server's actions, later.
    """
    # Ended by a signal, nothing of it stays.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    while True:
        server = subprocess.Popen(command, env=environment)
        try:
            status = _watched(server, program)
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        finally:
            _end(server)
        if status is not None:
            return status
        complain(
            "worker",
            f"a request has computed for {BUSY_SECONDS:.0f} s: the server starts again, and actions are lost",
        )


def _watched(server: subprocess.Popen[bytes], program: str) -> int | None:
    """Returns the server's exit status, or nothing once one of its threads is busy for good."""
    most = BUSY_SECONDS / _LOOK_SECONDS
    looks: dict[str, int] = {}
    while True:
        try:
            return server.wait(_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            states = _states(server.pid, program)
        looks = {
            thread: max(0, looks.get(thread, 0) + (1 if state in _BUSY else -_WAITING_WEIGHT))
            for thread, state in states.items()
        }
        if max(looks.values(), default=0) > most:
            return None


def _end(server: subprocess.Popen[bytes]) -> None:
    """Ends a server, and returns once nothing of it listens."""
    ended = []
    for one in tree(server.pid):
        with contextlib.suppress(OSError):
            ended.append(os.pidfd_open(one))
    server.kill()
    server.wait()
    for process in ended:
        select.select([process], [], [], _END_SECONDS)
        os.close(process)


def _states(process: int, program: str) -> dict[str, str]:
    """Returns the threads of the first process below another that runs a program: number -> state."""
    states = {}
    for one in tree(process):
        # What ends meanwhile is not busy.
        with contextlib.suppress(OSError):
            if Path(f"/proc/{one}/comm").read_text().strip() != program:
                continue
            for thread in Path(f"/proc/{one}/task").iterdir():
                with contextlib.suppress(OSError):
                    status = (thread / "stat").read_text(errors="replace")
                    states[thread.name] = status.rpartition(")")[2].split()[0]
            return states
    return states
