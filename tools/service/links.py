"""Lines to a target: a program or an emulator on this machine, or a board's serial port."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence

from tools.flash.serial_line import SerialLine
from tools.run import process

_CHUNK = 65536


class ProgramLink:
    """A program whose standard input and output are the line."""

    def __init__(self, argv: Sequence[str], path_tools: Sequence[str]) -> None:
        """Starts it; raises UserError if that is impossible."""
        self._program = process.start(argv, process.with_tools(path_tools), stdin=subprocess.PIPE)
        assert self._program.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._program.stdout, selectors.EVENT_READ)

    def read(self, seconds: float) -> bytes:
        if not self._selector.select(seconds):
            return b""
        assert self._program.stdout is not None
        data = os.read(self._program.stdout.fileno(), _CHUNK)
        if not data:
            raise EOFError(f"exit status {self._program.wait()}")
        return data

    def write(self, data: bytes) -> None:
        assert self._program.stdin is not None
        try:
            self._program.stdin.write(data)
            self._program.stdin.flush()
        except BrokenPipeError:
            return  # read() says that it ended, and what it wrote before.

    def close(self) -> None:
        self._selector.close()
        process.end(self._program)
        if self._program.stdin is not None:
            try:
                self._program.stdin.close()
            except BrokenPipeError:
                return


class PortLink:
    """A board's console."""

    def __init__(self, port: str, baud: int) -> None:
        """Opens the port; raises UserError if that is impossible."""
        self._line = SerialLine(port, baud, recovery="{port} vanished: plug it in and start again")

    def read(self, seconds: float) -> bytes:
        end = time.monotonic() + seconds
        while not (data := self._line.read()) and time.monotonic() < end:
            pass
        return data

    def write(self, data: bytes) -> None:
        self._line.write(data)

    def close(self) -> None:
        self._line.close()
