"""A terminal of 100 columns for tests, and the lines that are on its screen in the end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping
from pathlib import Path

COLUMNS = 100
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def at_terminal(
    command: list[str], environment: Mapping[str, str] = os.environ, cwd: Path | None = None
) -> tuple[int, str]:
    """Returns the exit status of a program and what it writes to a terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    env = {**environment, "TERM": "xterm-256color"}
    env.pop("COLUMNS", None)
    started = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=env, cwd=cwd
    )
    os.close(slave)
    said = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # the program has ended
            break
        if not chunk:
            break
        said += chunk
    os.close(master)
    return started.wait(), said.decode()


def lines(text: str) -> list[str]:
    """Returns the lines that are on the screen in the end, without trailing spaces."""
    whole = _SEQUENCE.sub("", text).replace("\r\n", "\n").split("\n")
    return [line.rpartition("\r")[2].rstrip() for line in whole]
