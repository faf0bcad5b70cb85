"""Frames on the console of service firmware; runtime_bm/app/frames.h describes them."""

from __future__ import annotations

import dataclasses

from tools.run.decode_status.header import constants

_NUMBERS = constants("runtime_bm/app/frames.h", "BM_FRAME_")
PAYLOAD_BYTES = _NUMBERS["PAYLOAD_BYTES"]
MARK = b"\xb5\x4d"
_BEGIN_BYTES = _NUMBERS["BEGIN_BYTES"]
_SUM_BYTES = _NUMBERS["SUM_BYTES"]
FRAME_BYTES = _BEGIN_BYTES + PAYLOAD_BYTES + _SUM_BYTES
_SEED = 0xCBF29CE484222325
_PRIME = 0x100000001B3


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """A request or an answer."""

    kind: int
    number: int
    payload: bytes


def fnv(data: bytes) -> int:
    """Returns the low 32 bits of the FNV-1a hash of 64 bits."""
    value = _SEED
    for byte in data:
        value = (value ^ byte) * _PRIME & 0xFFFFFFFFFFFFFFFF
    return value & 0xFFFFFFFF


def encode(frame: Frame) -> bytes:
    """Returns the frame as it is on the line."""
    body = bytes([frame.kind, frame.number]) + len(frame.payload).to_bytes(2, "little")
    body += frame.payload
    return MARK + body + fnv(body).to_bytes(_SUM_BYTES, "little")


class Reader:
    """Finds frames in what comes over the line, and the text around them."""

    def __init__(self) -> None:
        self._rest = b""
        self._text = b""

    def take(self, data: bytes) -> list[Frame]:
        """Returns the frames that `data` completes. A damaged one becomes text."""
        self._rest += data
        found: list[Frame] = []
        while True:
            at = self._rest.find(MARK)
            if at < 0:
                # The last byte may be half of a mark.
                keep = 1 if self._rest.endswith(MARK[:1]) else 0
                self._pass_text(len(self._rest) - keep)
                return found
            self._pass_text(at)
            if len(self._rest) < _BEGIN_BYTES:
                return found
            size = int.from_bytes(self._rest[4:6], "little")
            end = _BEGIN_BYTES + size + _SUM_BYTES
            if size <= PAYLOAD_BYTES and len(self._rest) < end:
                return found
            body = self._rest[2 : end - _SUM_BYTES]
            total = int.from_bytes(self._rest[end - _SUM_BYTES : end], "little")
            if size > PAYLOAD_BYTES or fnv(body) != total:
                self._pass_text(len(MARK))
                continue
            found.append(Frame(body[0], body[1], body[4:]))
            self._rest = self._rest[end:]

    def _pass_text(self, count: int) -> None:
        self._text += self._rest[:count]
        self._rest = self._rest[count:]

    def lines(self) -> list[str]:
        """Returns the whole lines of text since the last call."""
        *whole, self._text = self._text.split(b"\n")
        return [line.decode("utf-8", "replace").rstrip("\r") for line in whole]
