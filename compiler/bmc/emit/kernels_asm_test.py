"""Tests kernels.S on an image of a few bytes."""

from __future__ import annotations

import unittest
from dataclasses import replace

from bmc import target
from bmc.elf.kernels import DispatchFunction, Kernels
from bmc.emit import kernels_asm

# Code in [8, 16): an instruction of 2 bytes, one of 4, one of 2. Pointers at 16 and 32.
_CODE = bytes.fromhex("0100130500008280")
_IMAGE = bytes(8) + _CODE + bytes(range(32))
_KERNELS = Kernels(
    elf=b"",
    image=_IMAGE,
    loaded_bytes=4096,
    text=((8, 16),),
    relocations=((16, 0x28), (32, 0x8)),
    query=14,
    library=16,
    pointer_bytes=8,
    exports=(DispatchFunction("a$b", 8, 0, 1), DispatchFunction("c", 10, 0, 1)),
    arch="",
)


def content(kernels: Kernels, isa: str) -> list[str]:
    """Returns the lines that have bytes in them or give a symbol its address."""
    text = kernels_asm.source("m", kernels, target.find(isa)).partition("#else")[2]
    words = (".insn", ".incbin", ".quad", ".word", ".set")
    return [line.strip() for line in text.splitlines() if line.strip().startswith(words)]


class KernelsAsmTest(unittest.TestCase):
    def test_pointers_and_symbols_have_the_addresses_of_the_image(self) -> None:
        symbols = [
            ".set m_library_query, m_kernels + 0xe",
            ".set m_k_a_b, m_kernels + 0x8",
            ".set m_k_c, m_kernels + 0xa",
        ]
        self.assertEqual(
            content(_KERNELS, "rv64gc"),
            [
                '.incbin "kernels.bin", 0, 8',
                ".insn 2, 0x1",
                ".insn 4, 0x513",
                ".insn 2, 0x8082",
                ".quad m_kernels + 0x28",
                '.incbin "kernels.bin", 24, 8',
                ".quad m_kernels + 0x8",
                '.incbin "kernels.bin", 40, 8',
                *symbols,
            ],
        )
        self.assertEqual(
            content(_KERNELS, "x86_64")[:2],
            [
                '.incbin "kernels.bin", 0, 8',
                '.incbin "kernels.bin", 8, 8',
            ],
        )

    def test_the_image_begins_a_page_and_nothing_in_it_moves(self) -> None:
        linked = kernels_asm.source("m", _KERNELS, target.find("rv64gc")).partition("#else")[2]
        before, label, _ = linked.partition("\nm_kernels:\n")
        self.assertTrue(label)
        self.assertIn("\n    .balign 4096\n", before)
        self.assertIn("\n    .option norelax\n", before)

    def test_both_forms_are_padded_to_words_of_zeros(self) -> None:
        loaded, _, prelinked = kernels_asm.source("m", _KERNELS, target.find("rv64gc")).partition(
            "#else"
        )
        self.assertTrue(loaded.endswith('"kernels.elf"\n    .balign 4, 0\n'))
        self.assertIn('"kernels.bin", 40, 8\n    .balign 4, 0\n', prelinked)

    def test_pointers_of_32_bits(self) -> None:
        kernels = replace(_KERNELS, pointer_bytes=4)
        lines = content(kernels, "rv32imac")[4:8]
        self.assertEqual(
            lines,
            [
                ".word m_kernels + 0x28",
                '.incbin "kernels.bin", 20, 12',
                ".word m_kernels + 0x8",
                '.incbin "kernels.bin", 36, 12',
            ],
        )


if __name__ == "__main__":
    unittest.main()
