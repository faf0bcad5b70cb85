"""U-Boot over a serial line: YMODEM, piece by piece, each piece checked where it lies.

Pieces that are there already are not sent again, so a transfer that was cut goes on where it was.
"""

from __future__ import annotations

import zlib

from tools.flash import pack, safety, uboot, ymodem
from tools.flash.board import number
from tools.flash.errors import FlashError
from tools.flash.job import Console, Job
from tools.flash.serial_line import SerialLine
from tools.flash.uboot import UBoot

_PIECE = 64 * 1024
_TRIES = 4


class UBootSerial:
    """loady, crc32, go."""

    has_console = True

    def __init__(self, job: Job) -> None:
        self._job = job
        self._load = number(job.settings, "load")
        self._baud = number(job.settings, "baud")
        self._data = pack.for_uboot(job, self._load)
        self._line: SerialLine | None = None

    def _pieces(self) -> list[tuple[int, bytes]]:
        """Address and bytes of every piece."""
        return [
            (self._load + at, self._data[at : at + _PIECE])
            for at in range(0, len(self._data), _PIECE)
        ]

    def _start(self) -> str:
        return pack.start_command(self._job, self._load)

    def commands(self) -> list[str]:
        port = self._job.port or "PORT"
        said = [f"open {port} at {self._baud} baud, wait for U-Boot's prompt"]
        for address, piece in self._pieces():
            check = uboot.crc32_command(address, len(piece))
            said += [check, f"loady {address:#x}", f"send {len(piece)} bytes by YMODEM"]
            if self._job.verify:
                said.append(f"{check} must be {zlib.crc32(piece):08x}")
        return [*said, self._start()]

    def run(self) -> None:
        job = self._job
        safety.check_image(job.image, job.board)
        self._line = SerialLine(job.need_port("the serial port"), self._baud)
        target = UBoot(self._line, job.settings, job.wait_seconds)
        target.attach()
        done = 0
        for address, piece in self._pieces():
            self._send(target, address, piece, done)
            done += len(piece)
            job.progress(done, len(self._data))
        if job.verify:
            job.say(f"verified: crc32 {zlib.crc32(self._data):08x} as computed by U-Boot")
        target.start(self._start())

    def _send(self, target: UBoot, address: int, piece: bytes, before: int) -> None:
        """Sends one piece unless it is there, until U-Boot's own sum of it is right."""
        job = self._job
        want = zlib.crc32(piece)
        if job.verify and target.crc32(address, len(piece)) == want:
            job.say(f"{len(piece)} bytes at {address:#x} are there already")
            return
        for _ in range(_TRIES):
            target.start(f"loady {address:#x}")
            try:
                ymodem.send(
                    target.line,
                    "ironcast",
                    piece,
                    lambda sent: job.progress(before + sent, len(self._data)),
                )
            except ymodem.TransferError as error:
                job.say(f"{error}: sending this piece again")
                target.attach()
                continue
            target.attach()
            if not job.verify or target.crc32(address, len(piece)) == want:
                return
            job.say(f"{len(piece)} bytes at {address:#x} arrived wrong: sending them again")
        raise FlashError(
            f"{target.line.port} damages what is sent ({_TRIES} tries for {len(piece)} bytes at "
            f"{address:#x}): nothing was started; use a shorter cable or a lower baud rate and run "
            "the same command again, which goes on from here while the board has power"
        )

    def console(self) -> Console | None:
        return self._line
