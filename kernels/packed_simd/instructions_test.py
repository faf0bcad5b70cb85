"""Instructions of P as the specification has them: their encodings, and what Spike computes with random operands.

The specification here is draft 0.18 of the packed-SIMD extension: its table of encodings and its pseudo-code.
"""

from __future__ import annotations

import os
import random
import struct
import sys
import unittest
from collections.abc import Callable

from kernels.tests import instruction_rows

_MARCH = "rv64gc"
_CASES = 200


def _elements(value: int, bits: int) -> list[int]:
    """The signed elements of a register, the lowest first."""
    parts = [value >> at & (1 << bits) - 1 for at in range(0, 64, bits)]
    return [part - (1 << bits) if part >> bits - 1 else part for part in parts]


def _register(elements: list[int], bits: int) -> int:
    return sum((value & (1 << bits) - 1) << bits * i for i, value in enumerate(elements))


def _pm4adda_b(rd: int, rs1: int, rs2: int) -> int:
    products = [a * b for a, b in zip(_elements(rs1, 8), _elements(rs2, 8), strict=True)]
    sums = [old + sum(products[4 * i : 4 * i + 4]) for i, old in enumerate(_elements(rd, 32))]
    return _register(sums, 32)


def _zip(bits: int, is_high: bool) -> Callable[[int, int, int], int]:
    def zipped(_: int, rs1: int, rs2: int) -> int:
        half = 32 // bits
        part = slice(half, None) if is_high else slice(half)
        pairs = zip(_elements(rs1, bits)[part], _elements(rs2, bits)[part], strict=True)
        return _register([element for pair in pairs for element in pair], bits)

    return zipped


def _unzip(bits: int) -> Callable[[int, int, int], int]:
    def unzipped(_: int, rs1: int, rs2: int) -> int:
        return _register(_elements(rs1, bits)[::2] + _elements(rs2, bits)[::2], bits)

    return unzipped


def _pair(bits: int, first: int, second: int) -> Callable[[int, int, int], int]:
    def paired(_: int, rs1: int, rs2: int) -> int:
        parts = zip(_elements(rs1, bits)[first::2], _elements(rs2, bits)[second::2], strict=True)
        return _register([element for pair in parts for element in pair], bits)

    return paired


def _saturated(value: int) -> int:
    return max(-(2**31), min(2**31 - 1, value))


def _words(operation: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    def each(_: int, rs1: int, rs2: int) -> int:
        pairs = zip(_elements(rs1, 32), _elements(rs2, 32), strict=True)
        return _register([operation(a, b) for a, b in pairs], 32)

    return each


def _psshar_ws(_: int, rs1: int, rs2: int) -> int:
    amount = _elements(rs2, 8)[0]
    shifted = [
        _saturated(value << amount) if amount >= 0 else (value + (1 << -amount - 1)) >> -amount
        for value in _elements(rs1, 32)
    ]
    return _register(shifted, 32)


def _psrai_w_31(_: int, rs1: int, __: int) -> int:
    return _register([value >> 31 for value in _elements(rs1, 32)], 32)


_OP, _OP_32, _OP_IMM_32 = 0b0110011, 0b0111011, 0b0011011

# Mnemonic -> opcode, funct3, funct7, and the pseudo-code.
_INSTRUCTIONS: dict[str, tuple[int, int, int, Callable[[int, int, int], int]]] = {
    "pm4adda.b": (_OP_32, 0b101, 0b1000110, _pm4adda_b),
    "zip8p": (_OP_32, 0b010, 0b1111000, _zip(8, False)),
    "zip16p": (_OP_32, 0b010, 0b1111001, _zip(16, False)),
    "zip8hp": (_OP_32, 0b010, 0b1111010, _zip(8, True)),
    "zip16hp": (_OP_32, 0b010, 0b1111011, _zip(16, True)),
    "unzip8p": (_OP_32, 0b010, 0b1110000, _unzip(8)),
    "unzip16p": (_OP_32, 0b010, 0b1110001, _unzip(16)),
    "ppaire.b": (_OP_32, 0b100, 0b1000000, _pair(8, 0, 0)),
    "ppaire.h": (_OP_32, 0b100, 0b1000001, _pair(16, 0, 0)),
    "pack": (_OP, 0b100, 0b0000100, _pair(32, 0, 0)),
    "ppaireo.w": (_OP_32, 0b100, 0b1001011, _pair(32, 0, 1)),
    "ppairo.w": (_OP_32, 0b100, 0b1011011, _pair(32, 1, 1)),
    "padd.w": (_OP_32, 0b000, 0b1000001, _words(lambda a, b: a + b)),
    "psadd.w": (_OP_32, 0b000, 0b1001001, _words(lambda a, b: _saturated(a + b))),
    "pmin.w": (_OP_32, 0b110, 0b1110001, _words(min)),
    "pmax.w": (_OP_32, 0b110, 0b1111001, _words(max)),
    "pmulqr.w": (_OP_32, 0b111, 0b1101011, _words(lambda a, b: _saturated((a * b + 2**30) >> 31))),
    "psshar.ws": (_OP_IMM_32, 0b010, 0b1111101, _psshar_ws),
    # By 31, which is where the other source's number would be.
    "psrai.w": (_OP_IMM_32, 0b100, 0b1100001, _psrai_w_31),
}
_AMOUNT = 31
# Registers of the program below.
_A0, _A1, _A2 = 10, 11, 12

# Writes the row's instruction into the code and runs it.
_ROW = """\
    ld a0, 0(s0)
    ld a1, 8(s0)
    ld a2, 16(s0)
    ld s3, 24(s0)
    ld s4, 32(s0)
    la s5, code
    sw s4, 0(s5)
    fence.i
code:
    .word 0
    bne a0, s3, wrong
"""


def _word(name: str, rd: int, rs1: int, rs2: int) -> int:
    opcode, funct3, funct7, _ = _INSTRUCTIONS[name]
    rs2 = _AMOUNT if name == "psrai.w" else rs2
    return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def _rows(name: str, seed: int) -> list[tuple[int, ...]]:
    """Operands, the result and the encoding; operands are at their limits more often than chance has it."""
    choose = random.Random(seed)
    limits = [0x80, 0x7F, 0xFF, 0, 1]
    rows = []
    for _ in range(_CASES):
        operands = [
            _register([choose.choice([*limits, choose.randrange(256)]) for _ in range(8)], 8)
            for _ in range(3)
        ]
        result = _INSTRUCTIONS[name][-1](*operands)
        rows.append((*operands, result, _word(name, _A0, _A1, _A2)))
    return rows


def _run(rows: list[tuple[int, ...]]) -> int:
    """Returns 0, or the number of the first row, from 1, whose result Spike does not compute."""
    spike = ["--extlib", os.environ["EXTENSION"], "--extension=packed_simd", "--isa=rv64gcp"]
    return instruction_rows.run(_ROW, rows, _MARCH, spike)


class Instructions(unittest.TestCase):
    def test_spike_computes_the_pseudo_code(self) -> None:
        for seed, name in enumerate(_INSTRUCTIONS):
            with self.subTest(name):
                self.assertEqual(_run(_rows(name, seed)), 0)

    def test_a_wrong_result_is_noticed(self) -> None:
        rows = _rows("zip8p", 7)[:3]
        *operands, result, word = rows[1]
        rows[1] = (*operands, result ^ 1, word)
        self.assertEqual(_run(rows), 2)

    def test_the_header_encodes_them(self) -> None:
        for name in _INSTRUCTIONS:
            function = "packed_signs" if name == "psrai.w" else name.replace(".", "_")
            accumulates = name == "pm4adda.b"
            passed = "x" if name == "psrai.w" else "r, x, y" if accumulates else "x, y"
            arguments = ", ".join(f"uint64_t {each}" for each in passed.split(", "))
            text = '#include "kernels/packed_simd/instructions.h"\n'
            text += f"uint64_t f({arguments}) {{ return {function}({passed}); }}\n"
            with self.subTest(name):
                registers = (_A0, _A1, _A2) if accumulates else (_A0, _A0, _A1)
                word = struct.pack("<I", _word(name, *registers))
                self.assertIn(word, instruction_rows.compiled(text, _MARCH))


if __name__ == "__main__":
    sys.exit(unittest.main())
