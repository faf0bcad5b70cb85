"""vdot4a.vx as the specification has it: its encoding, and what Spike computes with random operands.

The specification here is the draft of Zvdot4a8i: the encoding and the pseudo-code of vdot4a.
"""

from __future__ import annotations

import random
import struct
import sys
import unittest

from kernels.tests import instruction_rows

_MARCH = "rv64gcv_zvl256b"
# Spike still has the extension under its first name.
_SPIKE = ["--isa=rv64gcv_zvl256b_zvqdotq"]
_CASES, _LANES = 200, 8
# Registers of the program below.
_V8, _V9, _A0 = 8, 9, 10

_BEGIN = f"""\
    li t0, 0x600
    csrs mstatus, t0
    vsetivli zero, {_LANES}, e32, m1, ta, ma
"""
# A row is the sums, the bytes, the word and the results.
_ROW = """\
    vle32.v v8, (s0)
    addi t0, s0, 32
    vle32.v v9, (t0)
    lw a0, 64(s0)
    .word {word}
    addi t0, s0, 68
    vle32.v v10, (t0)
    vmsne.vv v11, v8, v10
    vfirst.m t1, v11
    bgez t1, wrong
"""


def _word(vd: int, rs1: int, vs2: int) -> int:
    """vdot4a.vx vd, vs2, rs1 without a mask: OP-V, OPMVX."""
    funct6, is_unmasked, opmvx, op_v = 0b101100, 1, 0b110, 0b1010111
    return funct6 << 26 | is_unmasked << 25 | vs2 << 20 | rs1 << 15 | opmvx << 12 | vd << 7 | op_v


def _bytes(word: int) -> list[int]:
    return list(struct.unpack("<4b", struct.pack("<I", word & 0xFFFFFFFF)))


def _vdot4a_vx(vd: list[int], vs2: list[int], rs1: int) -> list[int]:
    """The pseudo-code: each lane, plus the products of the four signed bytes of both."""
    return [
        old + sum(a * b for a, b in zip(_bytes(lane), _bytes(rs1), strict=True))
        for old, lane in zip(vd, vs2, strict=True)
    ]


def _rows() -> list[tuple[int, ...]]:
    """Operands and results; bytes are at their limits more often than chance has it."""
    choose = random.Random(0)

    def word() -> int:
        limits = [0x80, 0x7F, 0xFF, 0, 1]
        parts = (choose.choice([*limits, choose.randrange(256)]) for _ in range(4))
        return sum(part << 8 * i for i, part in enumerate(parts))

    rows = []
    for _ in range(_CASES):
        vd, vs2 = ([word() for _ in range(_LANES)] for _ in range(2))
        rs1 = word()
        rows.append((*vd, *vs2, rs1, *_vdot4a_vx(vd, vs2, rs1)))
    return rows


def _run(rows: list[tuple[int, ...]], word: int) -> int:
    return instruction_rows.run(_ROW.format(word=word), rows, _MARCH, _SPIKE, _BEGIN, 32)


class Instructions(unittest.TestCase):
    def test_spike_computes_the_pseudo_code(self) -> None:
        self.assertEqual(_run(_rows(), _word(_V8, _A0, _V9)), 0)

    def test_a_wrong_result_is_noticed(self) -> None:
        rows = _rows()[:3]
        *others, last = rows[1]
        rows[1] = (*others, last ^ 1)
        self.assertEqual(_run(rows, _word(_V8, _A0, _V9)), 2)

    def test_the_header_encodes_it(self) -> None:
        text = (
            '#include "kernels/dot_products/instructions.h"\n'
            'void f(void) { __asm__ volatile(VDOT4A_VX("v8", "a0", "v9")); }\n'
        )
        word = struct.pack("<I", _word(_V8, _A0, _V9))
        self.assertIn(word, instruction_rows.compiled(text, _MARCH))


if __name__ == "__main__":
    sys.exit(unittest.main())
