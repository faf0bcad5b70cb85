"""U-Boot's prompt over a serial line that may lose or change a byte."""

from __future__ import annotations

import re
import time

from tools.flash.board import Settings
from tools.flash.job import Step
from tools.flash.serial_line import SerialLine
from tools.flash.shell import Shell, ShellMethod

_BREAK = b"\x03"
# Ends a YMODEM transfer that was cut.
_CANCEL = b"\x18" * 8
# How a receiver asks for a block.
_REQUESTS = (b"C", b"\x15")
# U-Boot asks again when nothing has come for two seconds, then discards what comes until the line has
# been quiet for two more.
_REQUEST_SECONDS = 6.0


class UBoot(Shell):
    """U-Boot's prompt, and what is asked there."""

    name = "U-Boot"
    sum_command = "crc32"
    sum_answer = re.compile(r"==>\s*([0-9a-f]{8})\b")

    def __init__(self, line: SerialLine, settings: Settings, wait_seconds: float) -> None:
        # At the start of a line: what crc32 prints has "==> " in it.
        prompt = b"\n" + str(settings.get("prompt", "=> ")).encode()
        super().__init__(line, prompt, wait_seconds)
        # What stops autoboot where not any key does; at the prompt it is taken back.
        self._stop = str(settings.get("stop", "")).encode()

    def attach(self) -> None:
        """Stops autoboot and waits for the prompt."""
        seen = b""
        end = time.monotonic() + self._wait_seconds
        tries = 0
        while time.monotonic() < end:
            # Any key stops most countdowns, and this one also what runs already.
            self.line.write(self._stop + _BREAK)
            seen = (seen + self.line.drain(0.3))[-4096:]
            if seen.endswith(self._prompt):
                return
            tries += 1
            if tries % 5 == 0:
                seen += self._cancel_transfer()
        raise self._no_prompt(self._prompt.decode().strip(), seen)

    def _cancel_transfer(self) -> bytes:
        """Ends a transfer that was cut, if there is one; returns what has come.

        U-Boot discards a cancellation that comes while it waits for a quiet line. It listens when it
        has just asked for a block.
        """
        self.line.write(_CANCEL)
        end = time.monotonic() + _REQUEST_SECONDS
        while time.monotonic() < end:
            data = self.line.read()
            if data.endswith(_REQUESTS):
                self.line.write(_CANCEL)
                return data + self.line.drain(1.0)
            if data:
                return data
        return b""


class UBootMethod(ShellMethod):
    """What is the same whichever way the image comes to `load`: the prompt, and the start."""

    shell = UBoot

    def _shell(self, line: SerialLine) -> Shell:
        return UBoot(line, self._job.settings, self._job.wait_seconds)

    def _start(self) -> Step:
        image = self._job.image
        start = f"{self._job.settings['start']} {image.entry:#x}"
        if not start.startswith("go "):
            # It wants the size too: the other core does not see what is in this one's caches.
            start += f" {len(self._data):#x}"
        return Step(start, lambda: self._target.start(start))
