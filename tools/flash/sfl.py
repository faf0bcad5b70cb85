"""Writes memory by SFL, LiteX's protocol for serial lines: frames with a CRC-16, each answered by a letter."""

from __future__ import annotations

import binascii
from collections.abc import Callable

from tools.flash.serial_line import Line, TransferError

# The BIOS asks whether there is someone who sends frames, and waits a quarter of a second.
_QUESTION = b"sL5DdSMmkekro\n"
_ANSWER = b"z6IHG7cYDID6o\n"
_ABORT, _LOAD = 0, 1
_TAKEN = ord("K")
# Bytes of a frame's data. The BIOS has room for 127 bytes while it does something else.
_DATA = 116
_TRIES = 12
_QUESTION_SECONDS = 5.0
_REPLY_SECONDS = 2.0
# A frame that stays incomplete is given up after a quarter of a second.
_QUIET_SECONDS = 0.3
# The BIOS says less before it asks. A board that never stops printing is not waited for.
_MAX_NOISE_BYTES = 4096


def _frame(command: int, payload: bytes) -> bytes:
    content = bytes([command]) + payload
    return bytes([len(payload)]) + binascii.crc_hqx(content, 0).to_bytes(2, "big") + content


# Leaves the protocol. Without a payload, the BIOS would wait for one.
ABORT = _frame(_ABORT, b"\0")


def send(line: Line, address: int, data: bytes, progress: Callable[[int], None]) -> None:
    """Writes `data` to `address` and leaves; `progress` is told how many bytes have been taken."""
    # It may come before the question: the BIOS keeps it.
    line.write(_ANSWER)
    _await_question(line)
    for at in range(0, len(data), _DATA):
        chunk = data[at : at + _DATA]
        where = address + at
        _exchange(
            line,
            _frame(_LOAD, where.to_bytes(4, "big") + chunk),
            f"{len(chunk)} bytes for {where:#x}",
        )
        progress(at + len(chunk))
    _exchange(line, ABORT, "the end")


def _await_question(line: Line) -> None:
    seen = b""
    while len(seen) < _MAX_NOISE_BYTES:
        byte = line.read_byte(_QUESTION_SECONDS)
        if byte is None:
            break
        seen += bytes([byte])
        if seen.endswith(_QUESTION):
            return
    raise TransferError("the board does not ask for frames")


def _exchange(line: Line, frame: bytes, what: str) -> None:
    """Sends until taken: a frame says where its bytes belong, so it may be written twice."""
    for _ in range(_TRIES):
        line.write(frame)
        if line.read_byte(_REPLY_SECONDS) == _TAKEN:
            return
        # Refused, incomplete, or silence: the line must be quiet before the next try.
        line.drain(_QUIET_SECONDS)
    raise TransferError(f"the board did not take {what} in {_TRIES} tries")
