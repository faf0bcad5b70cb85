"""Finds vector instructions whose result lies in a register that they may not overwrite.

A slide upwards, a gather and a compression read elements that they would have overwritten, so their result must not
overlap what they read (RISC-V "V" 1.0, 16.3 to 16.5). No hart executes them otherwise. LLVM 24 has written
such a slide.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_OP_V = 0x57
# funct3 of the forms of vector instructions.
_VV, _MVV, _VI, _VX, _FVF, _MVX = 0, 2, 3, 4, 5, 6
# (funct6, funct3): the name, and whether the second operand is a vector as well.
_FORBIDDEN = {
    (0b001110, _VX): ("vslideup.vx", False),
    (0b001110, _VI): ("vslideup.vi", False),
    (0b001110, _MVX): ("vslide1up.vx", False),
    (0b001110, _FVF): ("vfslide1up.vf", False),
    (0b001100, _VX): ("vrgather.vx", False),
    (0b001100, _VI): ("vrgather.vi", False),
    (0b001100, _VV): ("vrgather.vv", True),
    (0b001110, _VV): ("vrgatherei16.vv", True),
    (0b010111, _MVV): ("vcompress.vm", True),
}


@dataclass(frozen=True, slots=True)
class Overlap:
    """An instruction, and the number of the vector register that it reads and writes."""

    address: int
    name: str
    register: int


def find(image: bytes, text: tuple[tuple[int, int], ...]) -> Iterator[Overlap]:
    """Yields such instructions in RISC-V code.

    It compares numbers of registers. Those of a group begin at a multiple of its size, so groups of one size overlap
    only if the numbers are equal. Groups of different sizes (16-bit indices, a compression's mask) may overlap unseen.

    Args:
      image: memory image from vaddr 0.
      text: (start, end) vaddr ranges of code.
    """
    for start, end in text:
        address = start
        while address + 4 <= end:
            (word,) = struct.unpack_from("<I", image, address)
            if word & 0x7F == _OP_V and (found := _overlap(address, word)):
                yield found
            address += 4 if word & 3 == 3 else 2


def _overlap(address: int, word: int) -> Overlap | None:
    name, has_vector = _FORBIDDEN.get((word >> 26, word >> 12 & 7), ("", False))
    result, first, second = word >> 7 & 31, word >> 15 & 31, word >> 20 & 31
    if name and (result == second or (has_vector and result == first)):
        return Overlap(address, name, result)
    return None
