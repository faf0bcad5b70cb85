"""The prompt of a boot loader, over a serial line that may lose or change a byte."""

from __future__ import annotations

import re
import time

from tools.cli import UserError
from tools.flash.board import number
from tools.flash.job import Console, Job, Step
from tools.flash.serial_line import SerialLine

TRIES = 6


class Shell:
    """Gives commands and reads answers. Only those that start an image may not be repeated."""

    # What answers, for messages.
    name: str
    # The command that computes the CRC-32 of memory, and what it prints.
    sum_command: str
    sum_answer: re.Pattern[str]

    def __init__(self, line: SerialLine, prompt: bytes, wait_seconds: float) -> None:
        self.line = line
        self._prompt = prompt
        self._wait_seconds = wait_seconds

    def attach(self) -> None:
        """Gets to the prompt, whatever the loader is doing."""
        raise NotImplementedError

    def _no_prompt(self, prompt: str, seen: bytes) -> UserError:
        said = "nothing was received" if not seen else f"last received: {seen[-40:]!r}"
        return UserError(
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
        raise UserError(
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
        raise UserError(
            f"{self.name} on {self.line.port} does not come back from {command!r}: reset the board "
            "and run the same command again"
        )

    @classmethod
    def sum_text(cls, address: int, size: int) -> str:
        """What is typed to have a piece of memory summed up."""
        return f"{cls.sum_command} {address:#x} {size:#x}"

    def crc32(self, address: int, size: int) -> int:
        """CRC-32 of memory, computed by the board."""
        for _ in range(TRIES):
            found = self.sum_answer.search(self.run(self.sum_text(address, size), seconds=60))
            if found:
                return int(found[1], 16)
        raise UserError(
            f"{self.name} on {self.line.port} has no {self.sum_command} command: use --no-verify"
        )

    def _read_until(self, end: bytes, seconds: float) -> bytes:
        seen = b""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            seen += self.line.read()
            if seen.endswith(end):
                break
        return seen


class ShellMethod:
    """What is the same whichever way the image comes to `load`: the prompt, and the console."""

    has_console = True
    # What has the prompt.
    shell: type[Shell]

    # Both are there once the step that opens the line is done.
    _line: SerialLine
    _target: Shell

    def __init__(self, job: Job) -> None:
        self._job = job
        self._load = number(job.settings, "load")
        self._baud = number(job.settings, "baud", 115200)
        self._data = job.image.flat()
        if job.image.address != self._load:
            raise UserError(
                f"{job.image.path.name} is linked for {job.image.address:#x} and {job.board.name} "
                f"loads at {self._load:#x}: memory.ldh and board.json of the board differ"
            )

    def _open(self) -> Step:
        port = self._job.port or "PORT"
        text = f"open {port} at {self._baud} baud, wait for {self.shell.name}'s prompt"
        return Step(text, self._attach)

    def _attach(self) -> None:
        job = self._job
        self._line = SerialLine(job.need_port("the serial port"), self._baud)
        self._target = self._shell(self._line)
        self._target.attach()

    def _shell(self, line: SerialLine) -> Shell:
        """Returns the prompt on a line that is open."""
        raise NotImplementedError

    def console(self) -> Console | None:
        return self._line
