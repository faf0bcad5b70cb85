"""Runs one instruction in Spike on rows of operands, and compares each result with the row's."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

CLANG = os.environ["CLANG"]

# Computes every row of the table, and ends Spike with 0, or with the number of the row that differs.
_PROGRAM = """\
    .option norvc
    .globl _start
    .section .text
_start:
{begin}
    la s0, table
    la s1, end
    li s2, 1
again:
{row}
    addi s0, s0, {row_bytes}
    addi s2, s2, 1
    bne s0, s1, again
    li s2, 0
wrong:
    slli s2, s2, 1
    ori s2, s2, 1
    la s0, tohost
    sd s2, 0(s0)
stay:
    j stay
    .balign 64
    .globl tohost
tohost:
    .dword 0
    .globl fromhost
fromhost:
    .dword 0
table:
{rows}
end:
"""


def flags(march: str) -> list[str]:
    """Returns clang's options for freestanding code."""
    return [
        "--target=riscv64-unknown-elf",
        f"-march={march}",
        "-mabi=lp64d",
        "-ffreestanding",
        "-nostdlib",
    ]


def run(
    row: str,
    rows: list[tuple[int, ...]],
    march: str,
    spike: list[str],
    begin: str = "",
    bits: int = 64,
) -> int:
    """Returns 0, or the number of the first row, from 1, that is wrong.

    Args:
      row: assembly that computes the row at s0 and jumps to `wrong` if the result differs.
      rows: numbers of so many `bits`; any that fit, with or without a sign.
      march: extensions for the assembler.
      spike: options of Spike.
      begin: assembly that runs once before.
    """
    directive, mask = {32: ".word", 64: ".dword"}[bits], (1 << bits) - 1
    numbers = "\n".join(
        f"    {directive} " + ", ".join(f"{value & mask:#x}" for value in each) for each in rows
    )
    row_bytes = len(rows[0]) * bits // 8
    text = _PROGRAM.format(begin=begin, row=row, row_bytes=row_bytes, rows=numbers)
    with tempfile.TemporaryDirectory() as folder:
        source, image = Path(folder, "a.S"), Path(folder, "a.elf")
        source.write_text(text, encoding="utf-8")
        place = ["-fuse-ld=lld", "-static", "-Wl,-Ttext=0x80000000,-N", "-mcmodel=medany"]
        subprocess.run([CLANG, *flags(march), *place, source, "-o", image], check=True)
        return subprocess.run(
            [os.environ["SPIKE"], *spike, str(image)],
            env={"PATH": f"{Path(os.environ['DTC']).parent}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        ).returncode


def compiled(text: str, march: str) -> bytes:
    """Returns the object file of C, in which an instruction's bytes can be found."""
    with tempfile.TemporaryDirectory() as folder:
        source, code = Path(folder, "a.c"), Path(folder, "a.bin")
        source.write_text(text, encoding="utf-8")
        subprocess.run([CLANG, *flags(march), "-O1", "-I.", "-c", source, "-o", code], check=True)
        return code.read_bytes()
