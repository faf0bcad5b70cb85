"""The prompt of a boot loader, over a serial line that may lose or change a byte."""

from __future__ import annotations

import time

from tools.flash.errors import FlashError
from tools.flash.serial_line import SerialLine

TRIES = 6


class Shell:
    """Gives commands and reads answers. Only those that start an image may not be repeated."""

    # What answers, for messages.
    name: str

    def __init__(self, line: SerialLine, prompt: bytes, wait_seconds: float) -> None:
        self.line = line
        self._prompt = prompt
        self._wait_seconds = wait_seconds

    def attach(self) -> None:
        """Gets to the prompt, whatever the board is doing."""
        raise NotImplementedError

    def _no_prompt(self, prompt: str, seen: bytes) -> FlashError:
        said = "nothing was received" if not seen else f"last received: {seen[-40:]!r}"
        return FlashError(
            f"no {self.name} prompt {prompt!r} on {self.line.port} at {self.line.baud} baud within "
            f"{self._wait_seconds:g} s ({said}): check the baud rate and the wiring, and reset the "
            "board while this waits"
        )

    def type(self, command: str) -> None:
        """Types a command until it is echoed without a fault, not yet sending the end of line."""
        for _ in range(TRIES):
            self.line.write(command.encode())
            if self._read_until(command.encode(), 2.0).strip().endswith(command.encode()):
                return
            self.attach()
        raise FlashError(
            f"{self.line.port} garbles what is typed ({command!r} was not echoed in {TRIES} "
            "tries): use a shorter or shielded cable, or a lower baud rate"
        )

    def start(self, command: str) -> None:
        """Gives a command that does not come back to the prompt by itself."""
        self.type(command)
        self.line.write(b"\r")

    def run(self, command: str, seconds: float = 20.0) -> str:
        """Gives a command and returns what it printed. Repeats it when the line swallowed it."""
        for _ in range(TRIES):
            self.start(command)
            answer = self._read_until(self._prompt, seconds)
            if answer.endswith(self._prompt):
                return answer.removesuffix(self._prompt).decode("ascii", "replace")
            self.attach()
        raise FlashError(
            f"{self.name} on {self.line.port} does not come back from {command!r}: reset the board "
            "and run the same command again"
        )

    def _read_until(self, end: bytes, seconds: float) -> bytes:
        seen = b""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            seen += self.line.read()
            if seen.endswith(end):
                break
        return seen
