"""An image over a serial line, piece by piece, each piece checked where it lies.

Pieces that are there already are not sent again, so a transfer that was cut goes on where it was.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable

from tools.cli import UserError
from tools.flash import pack
from tools.flash.job import Step
from tools.flash.serial_line import TransferError
from tools.flash.shell import ShellMethod

_TRIES = 4


class Pieces(ShellMethod):
    """Sends pieces until the loader's own sums of them are right."""

    # Bytes of a piece.
    piece: int

    def _transfer_text(self, address: int, size: int) -> str:
        """Returns what `_transfer` does, in a line."""
        raise NotImplementedError

    def _transfer(self, address: int, piece: bytes, progress: Callable[[int], None]) -> None:
        """Sends a piece; TransferError when that may be tried again."""
        raise NotImplementedError

    def _pieces(self) -> list[Step]:
        return [
            self._piece(self._load + at, self._data[at : at + self.piece])
            for at in range(0, len(self._data), self.piece)
        ]

    def _piece(self, address: int, piece: bytes) -> Step:
        text = self._transfer_text(address, len(piece))
        if self._job.verify:
            text = (
                f"{self.shell.sum_text(address, len(piece))}; until it is {pack.crc(piece)}: {text}"
            )
        return Step(text, functools.partial(self._bring, address, piece))

    def _bring(self, address: int, piece: bytes) -> None:
        job = self._job
        self._send(address, piece)
        done = address - self._load + len(piece)
        job.progress(done, len(self._data))
        if job.verify and done == len(self._data):
            job.say(f"verified: crc32 {pack.crc(self._data)} as computed by {self.shell.name}")

    def _send(self, address: int, piece: bytes) -> None:
        """Sends one piece unless it is there, until the board's own sum of it is right."""
        job, target = self._job, self._target
        before = address - self._load
        want = zlib.crc32(piece)
        if job.verify and target.crc32(address, len(piece)) == want:
            job.say(f"{len(piece)} bytes at {address:#x} are there already")
            return
        for _ in range(_TRIES):
            try:
                self._transfer(
                    address, piece, lambda sent: job.progress(before + sent, len(self._data))
                )
            except TransferError as error:
                job.say(f"{error}: sending this piece again")
                target.attach()
                continue
            target.attach()
            if not job.verify or target.crc32(address, len(piece)) == want:
                return
            job.say(f"{len(piece)} bytes at {address:#x} arrived wrong: sending them again")
        raise UserError(
            f"{target.line.port} damages what is sent ({_TRIES} tries for {len(piece)} bytes at "
            f"{address:#x}): nothing was started; use a shorter cable or a lower baud rate and run "
            "the same command again, which goes on from here while the board has power"
        )
