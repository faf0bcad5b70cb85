"""What has been written is compared, and a board that holds something else is not started."""

from __future__ import annotations

import struct
import unittest
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from tools.flash import pack, sdcard, shell, uboot, ymodem
from tools.flash.tests import fake

_DATA = bytes(range(200))
_CARD_SIZE = 4 << 20
_SDCARD = {"sdcard": {"size": _CARD_SIZE, "stage": "0x2000"}}
_SERIAL = {
    "uboot-serial": {"baud": 115200, "load": "0x1000", "start": "go", "protocol": "ymodem"},
}
_TFTP = {"uboot-tftp": {"load": "0x1000", "start": "go"}}

_MKIMAGE = """#!/bin/sh
while [ "$1" != -d ]; do shift; done
cp "$2" "$3"
"""
# Keeps the image that an update writes, and reads it back. Its name and first option go to a log.
_MTOOLS = """#!/bin/sh
echo "$2 $5" >> FOLDER/log
case "$2 $5" in
  "mcopy -o") cp "$6" FOLDER/stored ;;
  "mcopy -n") cp FOLDER/stored "$8" ;;
esac
"""


def damaged(data: bytes) -> bytes:
    """The same length, one bit changed."""
    return data[:-1] + bytes([data[-1] ^ 1])


class CardTest(fake.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.card = self.folder / "card"

    def write_card(self, mtools: str = _MTOOLS, **changes: object) -> tuple[int, str]:
        """Runs the tool with small programs in the places of mkimage and mtools."""
        tools = []
        for name, text in (("mkimage", _MKIMAGE), ("mtools", mtools)):
            program = self.folder / name
            program.write_text(text.replace("FOLDER", str(self.folder)))
            program.chmod(0o755)
            tools.append(f"--tool={name}={program}")
        return self.flash(_SDCARD, "--port", str(self.card), *tools, **changes)

    def calls(self) -> list[str]:
        """What mtools was asked to do."""
        return (self.folder / "log").read_text().splitlines()

    def test_partition_ends_where_the_card_does(self) -> None:
        first, count = struct.unpack_from("<II", sdcard.master_boot_record(_CARD_SIZE), 446 + 8)
        self.assertEqual((first + count) * 512, _CARD_SIZE)

    def test_two_images_must_fit_beside_each_other(self) -> None:
        half = (_CARD_SIZE - (1 << 20)) // 2
        memory = [{"name": "ram", "origin": "0x1000", "length": "0x1000000"}]
        for size, end in ((half, 0), (half + 1, 2)):
            self.elf = fake.elf(self.folder / "m.elf", "b", 0x1000, bytes(size))
            status, said = self.write_card(memory=memory)
            self.assertEqual(status, end, said)
            self.assertEqual(f"takes {2 * size} bytes" in said, end == 2)

    def test_new_card_is_read_back(self) -> None:
        status, said = self.write_card()
        self.assertEqual(status, 0, said)
        self.assertIn(f"verified: {_CARD_SIZE} bytes read back from {self.card}", said)

    def test_new_card_that_holds_something_else(self) -> None:
        real = pack.write

        def write(path: Path, data: bytes) -> None:
            real(path, damaged(data) if path == self.card else data)

        with mock.patch.object(pack, "write", write):
            status, said = self.write_card()
        self.assertEqual(status, 2, said)
        self.assertIn(f"{self.card} does not hold what was written", said)

    def test_update_is_read_back_before_it_takes_the_place_of_the_old_image(self) -> None:
        self.card.write_bytes(sdcard.master_boot_record(_CARD_SIZE))
        status, said = self.write_card()
        self.assertEqual(status, 0, said)
        self.assertIn("verified; the previous image is kept", said)
        self.assertEqual(self.calls(), ["mcopy -o", "mcopy -n", "mren -o", "mren -o"])

    def test_update_that_is_not_on_the_card(self) -> None:
        # One byte more than was written, or another in the place of the first.
        for damage in ('echo >> "$8"', 'printf X | dd of="$8" conv=notrunc 2>&1'):
            self.card.write_bytes(sdcard.master_boot_record(_CARD_SIZE))
            (self.folder / "log").unlink(missing_ok=True)
            status, said = self.write_card(_MTOOLS + f'if [ "$5" = -n ]; then {damage}; fi\n')
            self.assertEqual(status, 2, said)
            self.assertIn(f"{self.card} does not hold what was written: the card still boots", said)
            self.assertEqual(self.calls(), ["mcopy -o", "mcopy -n"])


class ChipTest(fake.FolderTest):
    def test_file_that_holds_something_else_does_not_replace_the_old_one(self) -> None:
        chip, real = self.folder / "chip", pack.write
        chip.write_bytes(b"old")
        with mock.patch.object(pack, "write", lambda path, data: real(path, damaged(data))):
            status, said = self.flash({"pflash": {"size": 4096}}, "--port", str(chip))
        self.assertEqual(status, 2, said)
        self.assertIn("does not hold what was written", said)
        self.assertEqual(chip.read_bytes(), b"old")
        self.assertEqual(sorted(p.name for p in self.folder.glob("chip*")), ["chip"])


class Board:
    """U-Boot and its memory, behind a line or a server that damages the first `bad` transfers."""

    def __init__(self, bad: int = 0, memory: bytes = b"", fetched: int = len(_DATA)) -> None:
        self.started: list[str] = []
        self.line = mock.Mock(port="/dev/none")
        self._bad = bad
        self._fetched = fetched
        self._memory = memory.ljust(len(_DATA), b"\0")

    def attach(self) -> None:
        """The prompt is always there."""

    def start(self, command: str) -> None:
        self.started.append(command)

    def run(self, command: str, seconds: float) -> str:
        if command.startswith("tftpboot"):
            self._take(_DATA)
        return f"Bytes transferred = {self._fetched} ({self._fetched:x} hex)"

    def receive(
        self, line: object, name: str, data: bytes, progress: Callable[[int], None]
    ) -> None:
        """In the place of ymodem.send."""
        self._take(data)

    def crc32(self, address: int, size: int) -> int:
        return zlib.crc32(self._memory[address - 0x1000 :][:size])

    def _take(self, data: bytes) -> None:
        self._memory = damaged(data) if self._bad > 0 else data
        self._bad -= 1


class UBootTest(fake.FolderTest):
    def start(self, board: Board, methods: dict[str, Any], *args: str) -> tuple[int, str]:
        with (
            mock.patch.object(shell, "SerialLine"),
            mock.patch.object(uboot, "UBoot", return_value=board),
            mock.patch.object(ymodem, "send", board.receive),
        ):
            status, said = self.flash(methods, "--port", "/dev/none", *args)
        return status, " ".join(said.split())

    def test_piece_is_sent_until_it_has_arrived(self) -> None:
        board = Board(bad=2)
        status, said = self.start(board, _SERIAL)
        self.assertEqual(status, 0, said)
        self.assertEqual(board.started, ["loady 0x1000"] * 3 + ["go 0x1000"])
        self.assertEqual(said.count("arrived wrong"), 2)
        self.assertIn(f"verified: crc32 {pack.crc(_DATA)}", said)

    def test_line_that_damages_everything(self) -> None:
        board = Board(bad=100)
        status, said = self.start(board, _SERIAL)
        self.assertEqual(status, 2, said)
        self.assertIn("/dev/none damages what is sent", said)
        self.assertEqual(set(board.started), {"loady 0x1000"})

    def test_only_a_piece_that_is_there_is_not_sent(self) -> None:
        for memory, sent in ((_DATA, []), (damaged(_DATA), ["loady 0x1000"])):
            board = Board(memory=memory)
            status, said = self.start(board, _SERIAL)
            self.assertEqual(status, 0, said)
            self.assertEqual(board.started, [*sent, "go 0x1000"])

    def test_another_file_of_the_same_length_is_not_started(self) -> None:
        for bad, end, started in ((0, 0, ["go 0x1000"]), (1, 2, [])):
            board = Board(bad)
            status, said = self.start(board, _TFTP, "--tftp-root", str(self.folder))
            self.assertEqual(status, end, said)
            self.assertEqual(board.started, started)
            self.assertEqual("what U-Boot fetched is not" in said, bad > 0)

    def test_part_of_a_file_is_not_started(self) -> None:
        board = Board(fetched=len(_DATA) - 1)
        tftp = ("--tftp-root", str(self.folder), "--no-verify")
        status, said = self.start(board, _TFTP, *tftp)
        self.assertEqual(status, 2, said)
        self.assertIn("U-Boot could not fetch ironcast-b.img", said)
        self.assertEqual(board.started, [])


if __name__ == "__main__":
    unittest.main()
