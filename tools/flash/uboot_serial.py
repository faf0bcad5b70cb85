"""U-Boot over a serial line: YMODEM, piece by piece, each piece checked where it lies.

Pieces that are there already are not sent again, so a transfer that was cut goes on where it was.
"""

from __future__ import annotations

import functools
import zlib

from tools.flash import pack, ymodem
from tools.flash.errors import FlashError
from tools.flash.job import Step
from tools.flash.uboot import UBootMethod, crc32_command

_PIECE = 64 * 1024
_TRIES = 4


class UBootSerial(UBootMethod):
    """loady, crc32, go."""

    def steps(self) -> list[Step]:
        pieces = [
            self._piece(self._load + at, self._data[at : at + _PIECE])
            for at in range(0, len(self._data), _PIECE)
        ]
        return [self._open(), *pieces, self._start()]

    def _piece(self, address: int, piece: bytes) -> Step:
        text = f"loady {address:#x} and {len(piece)} bytes by YMODEM"
        if self._job.verify:
            text = f"{crc32_command(address, len(piece))}; until it is {pack.crc(piece)}: {text}"
        return Step(text, functools.partial(self._bring, address, piece))

    def _bring(self, address: int, piece: bytes) -> None:
        job = self._job
        self._send(address, piece)
        done = address - self._load + len(piece)
        job.progress(done, len(self._data))
        if job.verify and done == len(self._data):
            job.say(f"verified: crc32 {pack.crc(self._data)} as computed by U-Boot")

    def _send(self, address: int, piece: bytes) -> None:
        """Sends one piece unless it is there, until U-Boot's own sum of it is right."""
        job, target = self._job, self._target
        before = address - self._load
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
