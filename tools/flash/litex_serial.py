"""LiteX's BIOS over a serial line: frames, piece by piece, into main RAM.

The BIOS offers this as it starts, and jumps as soon as it is told to. Its prompt offers the same, and sums of memory
too: an acknowledgment that was taken for another's would leave a gap that no frame's CRC shows.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from tools.cli import UserError
from tools.flash import sfl
from tools.flash.board import Region
from tools.flash.job import Step
from tools.flash.pieces import Pieces
from tools.flash.serial_line import SerialLine
from tools.flash.shell import TRIES, Shell

_PROMPT = b"litex\x1b[0m> "
# Wherever the BIOS is: out of a transfer that was cut, out of its question for one, which it asks
# before it looks for other things to start, and out of a line that something was typed into. (The
# console without editing runs that line. It begins with what no command does, or ends so.)
_WAKE = sfl.ABORT + b"Q\x03\r"
_REGION = re.compile(r"(\w+) +0x([0-9a-f]{8}) 0x([0-9a-f]+)\b")


class LitexBios(Shell):
    """The BIOS's prompt, and what is asked there."""

    name = "LiteX"
    sum_command = "crc"
    sum_answer = re.compile(r"CRC32: ([0-9a-f]{8})\b")

    def __init__(self, line: SerialLine, wait_seconds: float) -> None:
        super().__init__(line, _PROMPT, wait_seconds)

    def attach(self) -> None:
        """Waits for the prompt; the BIOS starts nothing else meanwhile."""
        seen = b""
        end = time.monotonic() + self._wait_seconds
        while time.monotonic() < end:
            self.line.write(_WAKE)
            seen = (seen + self.line.drain(0.3))[-4096:]
            if seen.endswith(self._prompt):
                return
        raise self._no_prompt("litex>", seen)

    def memory(self) -> list[Region]:
        """The system's memory, as the BIOS was built for it."""
        found = _REGION.findall(self.run("mem_list"))
        return [Region(name, int(origin, 16), int(size, 16)) for name, origin, size in found]


class LitexSerial(Pieces):
    """mem_list, serialboot, crc, boot."""

    shell = LitexBios
    piece = 16 * 1024

    _target: LitexBios

    def steps(self) -> list[Step]:
        size = len(self._data)
        start = f"boot {self._job.image.entry:#x}"
        return [
            self._open(),
            Step(f"mem_list must have {size} bytes at {self._load:#x}", self._check_memory),
            *self._pieces(),
            Step(start, lambda: self._target.start(start)),
        ]

    def _shell(self, line: SerialLine) -> Shell:
        return LitexBios(line, self._job.wait_seconds)

    def _check_memory(self) -> None:
        """Refuses a board that is another than board.json says."""
        job = self._job
        # A damaged answer is asked for again.
        for _ in range(TRIES):
            memory = self._target.memory()
            if any(region.holds(self._load, len(self._data)) for region in memory):
                return
        regions = ", ".join(f"{r.name} {r.origin:#x}+{r.length:#x}" for r in memory) or "none"
        raise UserError(
            f"{job.image.path.name} has {len(self._data)} bytes for {self._load:#x}, and the board "
            f"on {job.port} has no such memory ({regions}): is it {job.board.name}? Nothing was "
            "written"
        )

    def _transfer_text(self, address: int, size: int) -> str:
        return f"serialboot and {size} bytes for {address:#x} by SFL"

    def _transfer(self, address: int, piece: bytes, progress: Callable[[int], None]) -> None:
        self._target.start("serialboot")
        sfl.send(self._target.line, address, piece, progress)
