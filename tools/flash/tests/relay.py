"""A bad cable: a pseudo-terminal whose bytes pass to a board and back, with faults on the way."""

from __future__ import annotations

import io
import os
import random
import select
import socket
import threading
import time
import tty
from pathlib import Path


class Relay:
    """Tools open `path`. Only what the tool sends is disturbed, unless `garbage` turns all to noise.

    The board is a socket on which it listens, or a serial port.
    """

    def __init__(
        self,
        board: Path,
        lose: float = 0.0,
        flip: float = 0.0,
        cut_after: int | None = None,
        garbage: bool = False,
    ) -> None:
        self._random = random.Random(1)
        self._lose, self._flip, self._cut_after = lose, flip, cut_after
        self._garbage = garbage
        self._sent = 0
        self.lost = self.flipped = 0
        self._board = _connect(board) if board.is_socket() else _open(board)
        # Files, not their numbers: a number that was closed soon names another file.
        self._master, self._slave = (io.FileIO(end, "r+") for end in os.openpty())
        tty.setraw(self._slave)
        self.path = os.ttyname(self._slave.fileno())
        self._alive = True
        self._work = threading.Thread(target=self._run, daemon=True)
        self._work.start()

    def _run(self) -> None:
        sources = [self._master, self._board]
        with self._board, self._slave, self._master:
            # It does not wait in a read: that would take bytes from the cable after this one.
            while self._alive:
                for source in select.select(sources, [], [], 0.05)[0]:
                    try:
                        self._pass_on(source)
                    except OSError:  # a board that has ended: what it said can still be read
                        sources = [self._master]

    def _pass_on(self, source: io.FileIO) -> None:
        """Passes on what has come from one end; OSError if there will be no more."""
        data = source.read(4096)
        if not data:
            raise ConnectionResetError
        sink = self._master
        if source is self._master:
            sink = self._board
            self._sent += len(data)
            if self._cut_after is not None and self._sent > self._cut_after:
                self._alive = False
                return
            data = self._damage(data)
        elif self._garbage:
            data = bytes(b ^ 0xA5 for b in data)
        while data:
            data = data[sink.write(data) :]

    def _damage(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            dice = self._random.random()
            if self._garbage:
                byte ^= 0xA5
            elif dice < self._lose:
                self.lost += 1
                continue
            elif dice < self._lose + self._flip:
                self.flipped += 1
                byte ^= 1 << self._random.randrange(8)
            out.append(byte)
        return bytes(out)

    def close(self) -> None:
        """Pulls the plug: the tool's port vanishes."""
        self._alive = False
        self._work.join()


def _connect(path: Path) -> io.FileIO:
    while True:
        line = socket.socket(socket.AF_UNIX)
        try:
            line.connect(str(path))
            return io.FileIO(line.detach(), "r+")
        except ConnectionRefusedError:  # the socket is there, and is not listened to yet
            line.close()
            time.sleep(0.01)


def _open(port: Path) -> io.FileIO:
    line = io.FileIO(port, "r+")
    tty.setraw(line)
    return line
