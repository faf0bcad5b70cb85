"""Rows are filled in from the bytes of the image; the runtime's own tests and boots judge the sums."""

from __future__ import annotations

import contextlib
import io
import random
import struct
import tempfile
import unittest
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tools.actions.seal import seal
from tools.cli import UserError

# The one segment begins here in the file, runs at one address and is stored at another.
_OFFSET = 0x200
_RUNS = 0x80000000
_STORED = 0x20000000
_CODE = bytes(range(64))
# The code above is none, so nothing is disassembled here.
_ISA = ("--objdump=true", "--isa=rv64gc", "--march=rv64imafdc")


def image(bits: int, *ranges: tuple[int, int], section: bytes = b".bm.checks") -> bytes:
    """An ELF with 64 bytes of code and then a row, not filled in, for each range of addresses."""
    word, row = ("Q", "<QQ24x") if bits == 64 else ("I", "<II24x")
    checks = b"".join(struct.pack(row, *ends) for ends in ranges)
    names = b"\0" + section + b"\0.names\0"
    data = _CODE + checks
    memory = len(data) + 64  # startup fills the rest with zeros
    sections = _OFFSET + len(data) + len(names)
    size = 64 if bits == 64 else 52
    header = struct.pack(
        f"<4sBBB9xHHI3{word}IHHHHHH",
        *(b"\x7fELF", bits // 32, 1, 1, 2, 243, 1, _RUNS, size, sections, 0, size),
        *(56 if bits == 64 else 32, 1, size if bits == 64 else 40, 3, 2),
    )
    if bits == 64:
        segment = struct.pack("<II6Q", 1, 5, _OFFSET, _RUNS, _STORED, len(data), memory, 4096)
    else:
        segment = struct.pack("<8I", 1, _OFFSET, _RUNS, _STORED, len(data), memory, 5, 4096)
    tables = struct.pack(
        "<" + f"II4{word}II2{word}" * 3,
        *([0] * 10),
        *(1, 1, 2, _RUNS + 64, _OFFSET + 64, len(checks), 0, 0, 8, 0),
        *(2 + len(section), 3, 0, 0, _OFFSET + len(data), len(names), 0, 0, 1, 0),
    )
    return (header + segment).ljust(_OFFSET, b"\0") + data + names + tables


def sealed(elf: bytes) -> bytes:
    made = bytearray(elf)
    seal.seal(made, ELFFile(io.BytesIO(elf)))
    return bytes(made)


class SealTest(unittest.TestCase):
    def test_sums_are_of_words_and_their_places(self) -> None:
        words = [3, 0xFFFFFFFF, 0, 5]
        data = struct.pack("<4I", *words)
        self.assertEqual(seal.sums(data), (sum(words), 4 * 3 + 3 * 0xFFFFFFFF + 5))
        self.assertEqual(seal.sums(b""), (0, 0))

    def test_a_row_is_filled_in(self) -> None:
        for bits, row in ((64, "<QQQQQ"), (32, "<IIQQI4x")):
            start, end = _STORED + 4, _STORED + 64
            found = sealed(image(bits, (start, end)))
            words = struct.unpack("<15I", _CODE[4:])
            want = (start, end, sum(words), sum((15 - i) * word for i, word in enumerate(words)))
            at = _OFFSET + 64
            self.assertEqual(
                struct.unpack_from(row, found, at), (*want, (start ^ end) ^ (2**bits - 1))
            )
            # Nothing else changes.
            self.assertEqual(found[:at], image(bits, (start, end))[:at])
            end_of_row = at + struct.calcsize(row)
            self.assertEqual(found[end_of_row:], image(bits, (start, end))[end_of_row:])

    def test_every_row_is_filled_in(self) -> None:
        rows = [(_STORED, _STORED + 8), (0, 0), (_STORED + 8, _STORED + 64)]
        found = sealed(image(64, *rows))
        guards = [struct.unpack_from("<Q", found, _OFFSET + 64 + 40 * i + 32)[0] for i in range(3)]
        self.assertEqual(guards, [(start ^ end) ^ (2**64 - 1) for start, end in rows])

    def test_other_bytes_have_other_sums(self) -> None:
        elf = bytearray(image(64, (_STORED, _STORED + 64)))
        before = sealed(bytes(elf))
        elf[_OFFSET + 63] ^= 0x80
        self.assertNotEqual(sealed(bytes(elf))[_OFFSET + 64 :], before[_OFFSET + 64 :])

    def test_an_image_without_rows_stays_as_it_is(self) -> None:
        elf = image(64, (_STORED, _STORED + 8), section=b".other")
        self.assertEqual(sealed(elf), elf)

    def test_what_is_not_stored_is_refused(self) -> None:
        zeros = _STORED + 64 + 40  # behind the code and the row
        with self.assertRaisesRegex(UserError, "is not in the image"):
            sealed(image(64, (zeros, zeros + 8)))
        for ends in ((_RUNS, _RUNS + 8), (_STORED - 4, _STORED + 4), (_STORED, _STORED + 0x1000)):
            with self.assertRaisesRegex(UserError, "is not in the image"):
                sealed(image(64, ends))

    def test_parts_of_words_are_refused(self) -> None:
        for ends in ((_STORED + 2, _STORED + 8), (_STORED, _STORED + 7)):
            with self.assertRaisesRegex(UserError, "not aligned to 4 bytes"):
                sealed(image(64, ends))

    def test_a_range_that_ends_before_it_starts_is_refused(self) -> None:
        for ends in ((_STORED + 8, _STORED + 4), (_STORED + 8, 0)):
            with self.assertRaisesRegex(UserError, "ends before it starts"):
                sealed(image(64, ends))

    def test_what_the_file_does_not_hold_is_refused(self) -> None:
        elf = image(64, (_STORED, _STORED + 8))
        # Where the segment begins in the file: an entry of the program header table.
        far = elf[:72] + (len(elf) - 8).to_bytes(8, "little") + elf[80:]
        with self.assertRaisesRegex(UserError, "past the end of the file"):
            sealed(far)
        # The type of the section: NOBITS.
        header = elf.rindex(struct.pack("<IIQ", 1, 1, 2))
        with self.assertRaisesRegex(UserError, "has no data"):
            sealed(elf[: header + 4] + b"\x08" + elf[header + 5 :])

    def test_what_are_no_rows_is_refused(self) -> None:
        # 32 bytes, a row for 32 bits.
        file = ELFFile(io.BytesIO(image(32, (_STORED, _STORED + 8))))
        file.elfclass = 64
        with self.assertRaisesRegex(UserError, "32 bytes, which are not rows of 40"):
            seal.rows(file)

    def test_a_mistake_is_one_sentence(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            linked, out = Path(root) / "linked.elf", Path(root) / "out.elf"
            linked.write_bytes(image(64, (_STORED, _STORED + 7)))
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(seal.main([str(linked), "--out", str(out), *_ISA]), 1)
            self.assertEqual(said.getvalue().count("\n"), 1)
            self.assertFalse(out.exists())
            self.assert_damage_is_one_sentence(linked, out)
            linked.write_bytes(image(64, (_STORED, _STORED + 8)))
            self.assertEqual(seal.main([str(linked), "--out", str(out), *_ISA]), 0)
            self.assertEqual(out.read_bytes(), sealed(linked.read_bytes()))
            with contextlib.redirect_stderr(io.StringIO()) as said:
                args = [str(linked), "--out", str(out), "--objdump=false", *_ISA[1:]]
                self.assertEqual(seal.main(args), 1)
                self.assertEqual(seal.main([str(out) + "x", "--out", str(out), *_ISA]), 1)
            self.assertRegex(
                said.getvalue(), "^.*: the disassembler cannot.*\n.*out.elfx: No such.*\n$"
            )

    def assert_damage_is_one_sentence(self, linked: Path, out: Path) -> None:
        whole, dice = image(64, (_STORED, _STORED + 8)), random.Random(1)
        # The headers at the beginning, the row, the names and the sections.
        places = [*range(120), *range(_OFFSET + 64, len(whole))]
        refused = 0
        for _ in range(300):
            damaged = bytearray(whole)
            for _ in range(dice.randint(1, 3)):
                damaged[dice.choice(places)] = dice.choice([0, 1, 0x7F, 0xFF])
            linked.write_bytes(damaged[: dice.choice([len(whole), dice.randrange(len(whole))])])
            with contextlib.redirect_stderr(io.StringIO()) as said:
                status = seal.main([str(linked), "--out", str(out), *_ISA])
            self.assertEqual(said.getvalue().count("\n"), status)
            refused += status
            out.unlink(missing_ok=True)
        self.assertGreater(refused, 150)


if __name__ == "__main__":
    unittest.main()
