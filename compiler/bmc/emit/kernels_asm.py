"""Writes kernels.bin and kernels.S, the prelinked image of the kernels' ELF, which runs in place.

The final link is static, so the linker fills in the image's few pointers (its RELATIVE relocations),
and nothing is copied or patched at boot. Assembled with BM_KERNELS_LOADED, it is the ELF itself, which
the runtime loads.
"""

from __future__ import annotations

import itertools
import re

from bmc.elf.kernels import Kernels
from bmc.emit import c_text, symbols
from bmc.target import Target

BLOB = "kernels.bin"
ELF = "kernels.elf"
# For a model that only copies and fills.
EMPTY = f"/* {c_text.BANNER} No kernels. */\n"


def source(name: str, kernels: Kernels, target: Target) -> str:
    """Returns kernels.S.

    The image lies at its own virtual addresses behind `<name>_kernels`, cut into pieces at pointers.
    RISC-V code is written as .insn, because an assembler marks .incbin as data and disassemblers
    would show it as such; what is data is an object, or it would be shown as code. The attribute
    adds the kernels' ISA to that of the firmware's C: objdump and gdb decode a linked image by it.
    """
    base = symbols.kernels(name)
    pad = f"    .balign {c_text.WORD_BYTES}, 0"
    lines = [
        f"/* {c_text.BANNER} */",
        "#ifdef BM_KERNELS_LOADED",
        f'    .section .bm.kernels.{name}, "a", @progbits',
        "    .balign 64",
        f"    .globl {symbols.kernels_elf(name)}",
        f"{symbols.kernels_elf(name)}:",
        f'    .incbin "{ELF}"',
        pad,
        "#else",
        f'    .section .bm.kernels.{name}, "ax", @progbits',
        "    .balign 4096",
        f"    .globl {base}",
        f"    .type {base}, @object",
        f"{base}:",
    ]
    if target.is_riscv:
        lines.insert(1, f'    .attribute arch, "{target.march}"')
        # Nothing may move: the image's own pc-relative offsets are already final.
        lines.insert(lines.index("#else") + 1, "    .option norelax")
    behind_code = {high for _, high in kernels.text if high < len(kernels.image)}
    for start, end in _pieces(kernels):
        if start in behind_code:
            lines += [f"    .type {base}_data_{start:x}, @object", f"{base}_data_{start:x}:"]
        addend = dict(kernels.relocations).get(start)
        if addend is not None:
            word = ".quad" if kernels.pointer_bytes == 8 else ".word"
            lines.append(f"    {word} {base} + {addend:#x}")
        elif target.is_riscv and any(low <= start < high for low, high in kernels.text):
            lines += _instructions(kernels.image[start:end])
        else:
            lines.append(f'    .incbin "{BLOB}", {start}, {end - start}')
    lines.append(pad)
    for symbol, address in _symbols(name, kernels):
        lines += [
            f"    .globl {symbol}",
            f"    .type {symbol}, @function",
            f"    .set {symbol}, {base} + {address:#x}",
        ]
    lines += ["#endif", '    .section .note.GNU-stack, "", @progbits']
    return "\n".join(lines) + "\n"


def _symbols(name: str, kernels: Kernels) -> list[tuple[str, int]]:
    """The query function and one symbol per kernel, so that disassembly and traps are readable."""
    exports = [
        (symbols.kernel(name, re.sub(r"[^A-Za-z0-9_]", "_", e.name)), e.address)
        for e in kernels.exports
    ]
    return [(symbols.library_query(name), kernels.query), *exports]


def _pieces(kernels: Kernels) -> list[tuple[int, int]]:
    """Cuts the image at pointers and at the borders of code."""
    cuts = {0, len(kernels.image)}
    for slot, _ in kernels.relocations:
        cuts |= {slot, slot + kernels.pointer_bytes}
    for start, end in kernels.text:
        cuts |= {start, end}
    ordered = sorted(cuts)
    return list(itertools.pairwise(ordered))


def _instructions(code: bytes) -> list[str]:
    """RISC-V instructions as raw encodings: 2 bytes long unless the low two bits are set."""
    lines: list[str] = []
    position = 0
    while position < len(code):
        size = 4 if code[position] & 3 == 3 else 2
        value = int.from_bytes(code[position : position + size], "little")
        lines.append(f"    .insn {size}, {value:#x}")
        position += size
    return lines
