"""Blocks of a YMODEM transfer, as a receiver takes them apart that shares no code with the sender."""

from __future__ import annotations

import binascii
import unittest

from tools.flash import ymodem

_SOH, _STX, _EOT, _ACK, _NAK, _CAN = 0x01, 0x02, 0x04, 0x06, 0x15, 0x18
_SIZES = {_SOH: 128, _STX: 1024}


class Receiver:
    """A line with a receiver at its end, which answers the first block with `noise`."""

    def __init__(self, noise: bytes) -> None:
        self.name = ""
        self.data = b""
        self._length = -1
        self._is_over = False
        self._expected = 0
        self._noise = noise
        self._answers = bytearray(b"C")

    def write(self, packet: bytes) -> None:
        if packet == bytes([_EOT]):
            self._is_over = True
            self._expected = 0
            self._answers += bytes([_ACK]) + b"C"
        elif self._noise:
            self._answers += self._noise
            self._noise = b""
        else:
            self._answers.append(_ACK if self._takes(packet) else _NAK)

    def _takes(self, packet: bytes) -> bool:
        """Whether a block is whole and the next one."""
        size = _SIZES[packet[0]]
        number, inverse, content = packet[1], packet[2], packet[3 : 3 + size]
        crc = binascii.crc_hqx(content, 0).to_bytes(2, "big")
        if packet[3 + size :] != crc or number + inverse != 255 or number != self._expected:
            return False
        self._expected = (number + 1) % 256
        if self._length < 0:
            name, _, rest = content.partition(b"\0")
            self.name, self._length = name.decode(), int(rest.split()[0])
        elif not self._is_over:
            self.data = (self.data + content)[: self._length]
        return True

    def read_byte(self, seconds: float) -> int | None:
        return self._answers.pop(0) if self._answers else None

    def drain(self, quiet: float = 0.2) -> bytes:
        left, self._answers = bytes(self._answers), bytearray()
        return left


class YmodemTest(unittest.TestCase):
    def check(self, data: bytes, noise: bytes = b"") -> None:
        """Sends a file and looks whether it has arrived."""
        receiver = Receiver(noise)
        ymodem.send(receiver, "ironcast", data, lambda sent: None)
        self.assertEqual((receiver.name, receiver.data), ("ironcast", data))

    def test_last_block_is_filled_up(self) -> None:
        for size in (1, 128, 129, 1024, 1025):
            # What it is filled up with may end the file too.
            self.check(b"\x1a" * size)

    def test_block_numbers_wrap(self) -> None:
        self.check(bytes(range(256)) * 4 * 257)

    def test_one_cancel_may_be_noise(self) -> None:
        self.check(b"x", noise=bytes([_CAN, _NAK]))

    def test_two_cancels_end_the_transfer(self) -> None:
        with self.assertRaisesRegex(ymodem.TransferError, "cancelled at block 0"):
            self.check(b"x", noise=bytes([_CAN, _CAN]))


if __name__ == "__main__":
    unittest.main()
