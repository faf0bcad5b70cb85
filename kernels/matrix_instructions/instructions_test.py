"""smt.vmadot as the specification has it: its encoding, and what the model in Spike computes with random operands.

The specification is SpacemiT's, of its integer matrix extension (v1.0, 20240422): the 4x4x8 unit for 256 bits of bytes.
Its pseudo-code numbers sums by i * K + j, which is more than there are; its figure has rows of N, as here. The
encoding is LLVM's (XSMTVDot), which has funct7 in full.
"""

from __future__ import annotations

import os
import random
import struct
import sys
import unittest

from kernels.tests import instruction_rows

_MARCH = "rv64gcv_zvl256b"
_SPIKE = [
    "--extlib",
    os.environ["EXTENSION"],
    "--extension=matrix_instructions",
    "--isa=rv64gcv_zvl{vlen}b",
]
_CASES, _ROWS, _COLUMNS, _TERMS = 200, 4, 4, 8
# Registers of the program below.
_SUMS, _A, _B = 8, 10, 11

_BEGIN = """\
    li t0, 0x600
    csrs mstatus, t0
    la t0, wrong
    csrw mtvec, t0
"""
# A row is the sums, both matrices and the results. Results are compared as two registers of words.
_ROW = """\
    vl2re8.v v8, (s0)
    addi t0, s0, 64
    vl1re8.v v10, (t0)
    addi t0, t0, 32
    vl1re8.v v11, (t0)
    li t1, {vl}
    vsetvli zero, t1, {sew}, m1, ta, ma
    .word {word}
    addi t0, s0, 128
    vl2re8.v v12, (t0)
    vsetivli zero, 16, e32, m2, ta, ma
    vmsne.vv v16, v8, v12
    vfirst.m t1, v16
    bgez t1, wrong
"""


def _word(vd: int, vs1: int, vs2: int) -> int:
    """smt.vmadot vd, vs1, vs2: custom-1, both signed."""
    opmma, signed, custom_1 = 0b1110001, 0b011, 0b0101011
    return opmma << 25 | vs2 << 20 | vs1 << 15 | signed << 12 | vd << 7 | custom_1


def _vmadot(c: list[int], a: list[int], b: list[int]) -> list[int]:
    """The pseudo-code, for one copy: C += A x B, with the columns of B one after the other."""
    c = list(c)
    for i in range(_ROWS):
        for j in range(_COLUMNS):
            for k in range(_TERMS):
                c[i * _COLUMNS + j] += a[i * _TERMS + k] * b[j * _TERMS + k]
    return c


def _rows() -> list[tuple[int, ...]]:
    """Operands and results, as words; bytes are at their limits more often than chance has it."""
    choose = random.Random(0)

    def matrix() -> list[int]:
        limits = [-128, 127, -1, 0, 1]
        return [choose.choice([*limits, choose.randrange(-128, 128)]) for _ in range(32)]

    rows = []
    for _ in range(_CASES):
        sums = [
            choose.choice([2**31 - 1, -(2**31), choose.randrange(-9999, 9999)]) for _ in range(16)
        ]
        a, b = matrix(), matrix()
        rows.append((*sums, *_words(a), *_words(b), *_vmadot(sums, a, b)))
    return rows


def _words(matrix: list[int]) -> tuple[int, ...]:
    return struct.unpack("<8I", struct.pack("<32b", *matrix))


def _run(
    rows: list[tuple[int, ...]],
    word: int = _word(_SUMS, _A, _B),
    vl: int = 32,
    sew: str = "e8",
    vlen: int = 256,
) -> int:
    row = _ROW.format(word=word, vl=vl, sew=sew)
    spike = [option.format(vlen=vlen) for option in _SPIKE]
    return instruction_rows.run(row, rows, _MARCH, spike, _BEGIN, 32)


class Instructions(unittest.TestCase):
    def test_spike_computes_the_pseudo_code(self) -> None:
        self.assertEqual(_run(_rows()), 0)

    def test_a_wrong_result_is_noticed(self) -> None:
        rows = _rows()[:3]
        *others, last = rows[1]
        rows[1] = (*others, last ^ 1)
        self.assertEqual(_run(rows), 2)

    def test_what_the_unit_is_not_for_is_illegal(self) -> None:
        rows = _rows()[:1]
        self.assertEqual(_run(rows, vl=16), 1)
        self.assertEqual(_run(rows, vl=16, sew="e16"), 1)
        self.assertEqual(_run(rows, vlen=512), 1)
        self.assertEqual(_run(rows, word=_word(_SUMS + 1, _A, _B)), 1)

    def test_the_header_encodes_it(self) -> None:
        text = (
            '#include "kernels/matrix_instructions/instructions.h"\n'
            "void f(void) { __asm__ volatile(VMADOT(8, 10, 11)); }\n"
        )
        word = struct.pack("<I", _word(_SUMS, _A, _B))
        self.assertIn(word, instruction_rows.compiled(text, _MARCH))

    def test_the_encoding_is_that_of_llvm(self) -> None:
        # smt.vmadot v16, v0, v8 in LLVM's own test of XSMTVDot.
        self.assertEqual(_word(16, 0, 8), 0xE280382B)


if __name__ == "__main__":
    sys.exit(unittest.main())
