"""Tests the search for results that overlap what they are computed from."""

from __future__ import annotations

import struct
import unittest

from bmc.elf import overlaps

# As llvm-mc encodes them.
_READ_V16 = {
    "vslideup.vx": 0x3B054457,  # v8, v16, a0
    "vslideup.vi": 0x3B013457,  # v8, v16, 2
    "vslide1up.vx": 0x3B056457,  # v8, v16, a0
    "vfslide1up.vf": 0x3B055457,  # v8, v16, fa0
    "vrgather.vx": 0x33054457,  # v8, v16, a0
    "vrgather.vi": 0x3300B457,  # v8, v16, 1
}
_READ_V16_V24 = {
    "vrgather.vv": 0x330C0457,  # v8, v16, v24
    "vrgatherei16.vv": 0x3B0C0457,  # v8, v16, v24
    "vcompress.vm": 0x5F0C2457,  # v8, v16, v24
}
_ALLOWED = (
    0x3E813457,  # vslidedown.vi v8, v8, 2
    0x3E856457,  # vslide1down.vx v8, v8, a0
    0x3B883857,  # vslideup.vi v16, v24, 16
    0x3B884857,  # vslideup.vx v16, v24, a6
    0x02840457,  # vadd.vv v8, v8, v8
)
_C_NOP = b"\x01\x00"


def _into(word: int, register: int) -> int:
    """Returns an instruction with another result."""
    return word & ~(31 << 7) | register << 7


def _found(code: bytes) -> list[tuple[int, str, int]]:
    # What is around the code is not code.
    image = struct.pack("<I", 0x3B613B57) + code + struct.pack("<I", 0x3B613B57)
    text = ((4, 4 + len(code)),)
    return [(f.address - 4, f.name, f.register) for f in overlaps.find(image, text)]


class OverlapsTest(unittest.TestCase):
    def test_result_in_the_register_of_an_operand(self) -> None:
        for name, word in (_READ_V16 | _READ_V16_V24).items():
            with self.subTest(name):
                code = struct.pack("<I", _into(word, 16))
                self.assertEqual(_found(code), [(0, name, 16)])
        for name, word in _READ_V16_V24.items():
            with self.subTest(name):
                self.assertEqual(_found(struct.pack("<I", _into(word, 24))), [(0, name, 24)])

    def test_other_instructions(self) -> None:
        words = (*_READ_V16.values(), *_READ_V16_V24.values(), *_ALLOWED)
        self.assertEqual(_found(struct.pack(f"<{len(words)}I", *words)), [])

    def test_short_instructions_before_it(self) -> None:
        # vslideup.vi v22, v22, 2, as LLVM has written it.
        code = _C_NOP + struct.pack("<I", 0x3B613B57) + _C_NOP
        self.assertEqual(_found(code), [(2, "vslideup.vi", 22)])
        self.assertEqual(_found(_C_NOP + code[2:4]), [])


if __name__ == "__main__":
    unittest.main()
