"""Reading images, and what is none."""

from __future__ import annotations

import os
import random
import unittest
from pathlib import Path

from tools.cli import UserError
from tools.flash import board, image, pack
from tools.flash.tests import fake


class ImageTest(fake.FolderTest):
    def test_what_is_inside(self) -> None:
        read = image.read(self.elf)
        self.assertEqual((read.board, read.isa, read.models), ("b", "rv64gc", ("m",)))
        self.assertEqual((read.address, read.entry), (0x1000, 0x1000))
        self.assertEqual(read.flat(), bytes(range(200)))

    def test_gaps_are_zero(self) -> None:
        segments = (image.Segment(16, b"ab"), image.Segment(20, b"c"))
        gap = image.Image(self.elf, 16, segments, (), "b", "", ())
        self.assertEqual(gap.flat(), b"ab\0\0c")

    def test_segments_are_in_the_order_of_their_addresses(self) -> None:
        more = [(0x1000, b"first")]
        read = image.read(fake.elf(self.elf, "b", 0x3000, b"behind", more=more))
        self.assertEqual([s.address for s in read.segments], [0x1000, 0x3000])
        self.assertEqual((read.address, read.flat()[:5]), (0x1000, b"first"))

    def test_segment_that_the_file_does_not_hold(self) -> None:
        whole = self.elf.read_bytes()
        # The segment's sizes in the file and in memory: one byte more than there is.
        size = len(whole) - 120 + 1
        self.elf.write_bytes(whole[:96] + 2 * size.to_bytes(8, "little") + whole[112:])
        with self.assertRaisesRegex(UserError, "reaches past the end of the file"):
            image.read(self.elf)

    def test_rest_of_a_chip_reads_as_erased(self) -> None:
        self.assertEqual(
            pack.padded(image.read(self.elf), 202, "it"), bytes(range(200)) + b"\xff\xff"
        )

    def test_what_is_not_an_image(self) -> None:
        whole = self.elf.read_bytes()
        bad = self.folder / "bad.elf"
        for content, sentence in {
            b"hello": "not an ELF",
            whole[:100]: "damaged ELF",
            whole[: 64 + 56 + 100]: "damaged ELF",
            whole.replace(b"Ironcast", b"Somebody"): "somebody else's",
            whole.replace(b"Ironcast\0\0\0\0", b"Ironcast    "): "damaged ELF",
            whole.replace(b".note.ironcast", b".note.whatever"): "not linked by bm_firmware",
        }.items():
            bad.write_bytes(content)
            with self.assertRaisesRegex(UserError, sentence):
                image.read(bad)
        # An entry of the program header table: its sizes in the file and in memory.
        for size in (2**63, 2**64 - 1):
            bad.write_bytes(whole[:96] + 2 * size.to_bytes(8, "little") + whole[112:])
            with self.assertRaisesRegex(UserError, "damaged ELF"):
                image.read(bad)
        # Where the firmware starts.
        bad.write_bytes(whole[:24] + (0x1234567).to_bytes(8, "little") + whole[32:])
        with self.assertRaisesRegex(UserError, "starts at 0x1234567, where no segment is"):
            image.read(bad)
        with self.assertRaisesRegex(UserError, "build it first"):
            image.read(self.folder / "none.elf")

    def test_what_no_firmware_is(self) -> None:
        whole = self.elf.read_bytes()
        # Place in the file -> what is there instead.
        for at, value, sentence in (
            (5, b"\2", "not for RISC-V"),
            (16, b"\1\0", "not linked to run at an address"),
            (16, b"\3\0", "not linked to run at an address"),
            (18, b"\x3e\0", "not for RISC-V"),
            (54, b"\xff\xff", "program headers have 65535 bytes"),
            (104, (199).to_bytes(8, "little"), "more data than memory"),
        ):
            self.elf.write_bytes(whole[:at] + value + whole[at + len(value) :])
            with self.subTest(sentence), self.assertRaisesRegex(UserError, sentence):
                image.read(self.elf)

    def test_segments_that_overlap(self) -> None:
        for address, is_right in ((0x10C8, True), (0x10C7, False), (0x1000, False), (0xFFF, False)):
            fake.elf(self.elf, "b", 0x1000, bytes(200), more=[(address, b"ab")])
            whole = self.elf.read_bytes()
            # The second one is elsewhere when it runs (3), or when it is loaded (2).
            apart = (0x9000).to_bytes(8, "little")
            for place in (None, 64 + 56 + 16, 64 + 56 + 24):
                moved = whole if place is None else whole[:place] + apart + whole[place + 8 :]
                self.elf.write_bytes(moved)
                with self.subTest(address=address, place=place):
                    if is_right:
                        image.read(self.elf)
                        continue
                    with self.assertRaisesRegex(UserError, "two segments overlap"):
                        image.read(self.elf)

    def test_sentences_say_nothing_of_the_parser(self) -> None:
        whole = self.elf.read_bytes()
        note = whole.index(b"Ironcast\0") - 12
        far = (2**63).to_bytes(8, "little")
        for damaged in (
            whole[:50],
            whole[:40] + far + whole[48:],
            # The name of the note, which takes all of it, and none.
            whole[:note] + b"\xff\xff\xff\xff" + whole[note + 4 :],
            whole[: note + 4] + bytes(4) + whole[note + 8 :],
        ):
            self.elf.write_bytes(damaged)
            with self.assertRaises(UserError) as caught:
                image.read(self.elf)
            self.assertEqual(str(caught.exception), f"{self.elf} is a damaged ELF: build it again")

    def test_what_has_no_end(self) -> None:
        pipe, large = self.folder / "pipe", self.folder / "large"
        os.mkfifo(pipe)
        with large.open("wb") as file:
            file.truncate(1 << 40)
        for read, path, sentence in (
            (image.read, pipe, "is no file"),
            (image.read, Path("/dev/zero"), "is no file"),
            (image.read, large, "no firmware is so large"),
            (board.read, pipe, "is no file: name a board.json"),
            (board.read, large, "no board.json is so large"),
        ):
            with self.assertRaisesRegex(UserError, sentence):
                read(path)

    def test_any_damage_is_a_sentence(self) -> None:
        # In headers, note and names: the segment's 200 bytes, which begin at 120, may be anything.
        whole, dice = self.elf.read_bytes(), random.Random(1)
        refused = 0
        for _ in range(500):
            damaged = bytearray(whole)
            for _ in range(dice.randint(1, 4)):
                at = dice.choice([dice.randrange(120), dice.randrange(320, len(whole))])
                damaged[at] = dice.choice([0, 1, 0x7F, 0xFF, dice.randrange(256)])
            self.elf.write_bytes(damaged[: dice.choice([len(whole), dice.randrange(len(whole))])])
            try:
                image.read(self.elf)
            except UserError:
                refused += 1
        self.assertGreater(refused, 250)
        self.assertLess(refused, 500)


if __name__ == "__main__":
    unittest.main()
