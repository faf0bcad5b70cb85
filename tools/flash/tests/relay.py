"""A bad cable: a pseudo-terminal whose bytes pass to a socket and back, with faults on the way."""

from __future__ import annotations

import contextlib
import io
import os
import random
import socket
import threading
import time
import tty
from pathlib import Path


class Relay:
    """Tools open `path`. Only what the tool sends is disturbed, unless `garbage` turns all to noise."""

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
        self._socket = _connect(board)
        # Files, not their numbers: a number that was closed soon names another file.
        self._master, self._slave = (io.FileIO(end, "r+") for end in os.openpty())
        tty.setraw(self._slave)
        self.path = os.ttyname(self._slave.fileno())
        self._alive = True
        for work in (self._to_board, self._to_tool):
            threading.Thread(target=work, daemon=True).start()

    def _to_board(self) -> None:
        while self._alive:
            try:
                data = self._master.read(256)
            except (OSError, ValueError):
                return
            self._sent += len(data)
            if self._cut_after is not None and self._sent > self._cut_after:
                self.close()
                return
            self._socket.sendall(self._damage(data))

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

    def _to_tool(self) -> None:
        while self._alive:
            try:
                data = self._socket.recv(4096)
                if not data:
                    return
                if self._garbage:
                    data = bytes(b ^ 0xA5 for b in data)
                self._master.write(data)
            except (OSError, ValueError):
                return

    def close(self) -> None:
        """Pulls the plug: the tool's port vanishes."""
        if self._alive:
            self._alive = False
            # To close it is not enough: it stays connected while a thread waits for its bytes, and
            # QEMU lets nobody else in.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            for end in (self._socket, self._slave, self._master):
                end.close()


def _connect(path: Path) -> socket.socket:
    while True:
        line = socket.socket(socket.AF_UNIX)
        try:
            line.connect(str(path))
            return line
        except ConnectionRefusedError:  # the socket is there, and is not listened to yet
            line.close()
            time.sleep(0.01)
