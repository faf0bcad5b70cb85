"""Frames on a line with noise."""

from __future__ import annotations

import unittest

from tools.service.frames import MARK, PAYLOAD_BYTES, Frame, Reader, encode, fnv

_FRAMES = [Frame(1, 0, b""), Frame(3, 255, MARK * 3), Frame(4, 7, bytes(PAYLOAD_BYTES))]


class FramesTest(unittest.TestCase):
    def test_hash_is_that_of_the_runtime(self) -> None:
        # The published FNV-1a 64 of "a" is af63dc4c8601ec8c.
        self.assertEqual(fnv(b"a"), 0x8601EC8C)

    def test_frames_arrive_byte_by_byte_between_text(self) -> None:
        line = b"BM1 BOOT\n" + encode(_FRAMES[0]) + b"free text\r\nhalf"
        line += encode(_FRAMES[1]) + encode(_FRAMES[2]) + b" a line\n"
        reader = Reader()
        found = [frame for byte in line for frame in reader.take(bytes([byte]))]
        self.assertEqual(found, _FRAMES)
        self.assertEqual(reader.lines(), ["BM1 BOOT", "free text", "half a line"])
        self.assertEqual(Reader().take(line), _FRAMES)

    def test_damaged_frames_are_dropped_and_what_follows_is_found(self) -> None:
        good = encode(_FRAMES[1])
        for at in range(len(good)):
            bad = good[:at] + bytes([good[at] ^ 0x04]) + good[at + 1 :]
            reader = Reader()
            # The size may have become larger, so that more is read before the sum is wrong.
            found = reader.take(bad + bytes(2 * PAYLOAD_BYTES) + good)
            self.assertEqual(found, [_FRAMES[1]], at)


if __name__ == "__main__":
    unittest.main()
