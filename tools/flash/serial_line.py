"""A serial line, opened for this process alone."""

from __future__ import annotations

import termios
import time
from typing import Protocol

import serial

from tools.cli import UserError

VANISHED = (
    "{port} vanished: plug it in again and run the same command again; what is already in the "
    "board's memory is kept while it has power"
)
# A board that prints without end is not waited for.
_NEVER_QUIET_SECONDS = 5.0
# What pyserial raises when a port goes away: termios' own error is no OSError.
_GONE = (serial.SerialException, OSError, termios.error)


class TransferError(UserError):
    """The receiver gave up or no longer answers; sending again may help."""


class Line(Protocol):
    """What a transfer needs of a serial line."""

    def write(self, data: bytes) -> None: ...
    def read_byte(self, seconds: float) -> int | None: ...
    def drain(self, quiet: float = 0.2) -> bytes: ...


class SerialLine:
    """Bytes to and from a port; a port that goes away becomes a sentence."""

    def __init__(self, port: str, baud: int, recovery: str = VANISHED) -> None:
        self.port = port
        self.baud = baud
        self._recovery = recovery
        try:
            self._serial = serial.serial_for_url(
                port, baudrate=baud, timeout=0.02, write_timeout=10, exclusive=True
            )
        except (*_GONE, ValueError) as error:
            text = str(error)
            if "lock" in text or "busy" in text.lower():
                raise UserError(
                    f"{port} is in use by another program: close it (a terminal, a monitor) first"
                ) from error
            raise UserError(
                f"{port} cannot be opened ({text}): --list shows the ports there are"
            ) from error

    def read(self) -> bytes:
        """What has come; empty after 20 ms without anything."""
        try:
            data: bytes = self._serial.read(max(1, self._serial.in_waiting))
            return data
        except _GONE as error:
            raise UserError(self._recovery.format(port=self.port)) from error

    def write(self, data: bytes) -> None:
        """Sends everything."""
        try:
            self._serial.write(data)
            self._serial.flush()
        except _GONE as error:
            raise UserError(self._recovery.format(port=self.port)) from error

    def read_byte(self, seconds: float) -> int | None:
        """The next byte; None when none comes in time."""
        end = time.monotonic() + seconds
        while True:
            try:
                data = self._serial.read(1)
            except _GONE as error:
                raise UserError(self._recovery.format(port=self.port)) from error
            if data:
                return int(data[0])
            if time.monotonic() >= end:
                return None

    def drain(self, quiet: float = 0.2) -> bytes:
        """Everything that comes until nothing has come for `quiet` seconds, or the line is never quiet."""
        seen = b""
        end = time.monotonic() + quiet
        last = end + _NEVER_QUIET_SECONDS
        while time.monotonic() < min(end, last):
            data = self.read()
            if data:
                seen += data
                end = time.monotonic() + quiet
        return seen

    def close(self) -> None:
        """Gives the port back."""
        self._serial.close()
