"""U-Boot over a serial line: YMODEM, piece by piece."""

from __future__ import annotations

from collections.abc import Callable

from tools.flash import ymodem
from tools.flash.job import Step
from tools.flash.pieces import Pieces
from tools.flash.uboot import UBootMethod


class UBootSerial(UBootMethod, Pieces):
    """loady, crc32, go."""

    piece = 64 * 1024

    def steps(self) -> list[Step]:
        return [self._open(), *self._pieces(), self._start()]

    def _transfer_text(self, address: int, size: int) -> str:
        return f"loady {address:#x} and {size} bytes by YMODEM"

    def _transfer(self, address: int, piece: bytes, progress: Callable[[int], None]) -> None:
        self._target.start(f"loady {address:#x}")
        ymodem.send(self._target.line, "ironcast", piece, progress)
