"""Tests the words of a ROM."""

from __future__ import annotations

import struct
import tempfile
import unittest
from pathlib import Path

from boards.gates import rom
from tools.cli import UserError


def elf(address: int, data: bytes) -> bytes:
    """Returns a 32-bit ELF of one segment."""
    header = struct.pack(
        "<16s2H5I6H", b"\x7fELF\1\1\1", 2, 243, 1, address, 52, 0, 0, 52, 32, 1, 0, 0, 0
    )
    return header + struct.pack("<8I", 1, 84, address, address, len(data), 64, 5, 4) + data


class RomTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.elf = Path(folder.name, "bios.elf")

    def test_words_of_a_segment(self) -> None:
        self.elf.write_bytes(elf(0x1004, b"\x11\x22\x33\x44\x55"))
        text = rom.words(rom.contents(self.elf, 0x1000, 16))
        self.assertEqual(text, "00000000\n44332211\n00000055\n00000000\n")

    def test_what_does_not_fit_is_refused(self) -> None:
        for address in (0xFFC, 0x100C):
            self.elf.write_bytes(elf(address, b"\0" * 5))
            with self.assertRaisesRegex(UserError, f"5 bytes at {address:#x}, outside the ROM"):
                rom.contents(self.elf, 0x1000, 16)


if __name__ == "__main__":
    unittest.main()
