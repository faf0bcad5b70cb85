"""Sends one file by YMODEM (1024-byte blocks with CRC-16) to a receiver such as U-Boot's loady."""

from __future__ import annotations

import binascii
from collections.abc import Callable

from tools.flash.serial_line import Line, TransferError

_SOH, _STX, _EOT, _ACK, _NAK, _CAN, _WANT_CRC = 0x01, 0x02, 0x04, 0x06, 0x15, 0x18, ord("C")
_BLOCK = 1024
_TRIES = 12
_ANSWER_SECONDS = 3.0
# U-Boot prints less before it asks. A board that never stops printing is not waited for.
_MAX_NOISE_BYTES = 4096


def send(line: Line, name: str, data: bytes, progress: Callable[[int], None]) -> None:
    """Sends `data`; `progress` is told how many bytes have been acknowledged."""
    _await_receiver(line)
    _block(line, 0, f"{name}\0{len(data)} ".encode(), 128)
    # Some receivers ask again for what follows the name, U-Boot only when nothing comes.
    line.drain(0.1)
    number = 1
    for at in range(0, len(data), _BLOCK):
        chunk = data[at : at + _BLOCK]
        _block(line, number & 0xFF, chunk, 128 if len(chunk) <= 128 else _BLOCK)
        number += 1
        progress(at + len(chunk))
    _exchange(line, bytes([_EOT]), "the end of the file")
    _await_receiver(line)
    _block(line, 0, b"", 128)


def _await_receiver(line: Line) -> None:
    silences = noise = 0
    while silences < _TRIES and noise < _MAX_NOISE_BYTES:
        answer = line.read_byte(_ANSWER_SECONDS)
        if answer == _WANT_CRC:
            return
        silences += answer is None
        noise += answer is not None
    raise TransferError("the receiver does not ask for the file by YMODEM")


def _block(line: Line, number: int, content: bytes, size: int) -> None:
    filler = b"\0" if number == 0 and size == 128 else b"\x1a"
    content = content.ljust(size, filler)
    head = bytes([_SOH if size == 128 else _STX, number, 0xFF - number])
    crc = binascii.crc_hqx(content, 0).to_bytes(2, "big")
    _exchange(line, head + content + crc, f"block {number}")


def _exchange(line: Line, packet: bytes, what: str) -> None:
    """Sends until acknowledged; a repeated block is acknowledged again and not stored twice."""
    cancels = 0
    for _ in range(_TRIES):
        line.write(packet)
        while True:
            answer = line.read_byte(_ANSWER_SECONDS)
            if answer == _ACK:
                return
            if answer == _CAN:
                cancels += 1
                if cancels >= 2:
                    raise TransferError(f"the receiver cancelled at {what}")
                continue
            # Silence, a NAK ("C" to some), or noise: the line must be quiet before the next try.
            line.drain(0.1)
            break
    raise TransferError(f"the receiver did not acknowledge {what} in {_TRIES} tries")
