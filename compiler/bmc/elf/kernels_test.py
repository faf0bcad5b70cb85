"""Tests the checks of the kernels' ELF on a real file that is damaged in many ways."""

from __future__ import annotations

import struct
import unittest
from collections.abc import Iterator

import support

from bmc import target
from bmc.elf import kernels, reader
from bmc.errors import BmcError

_EI_DATA, _E_TYPE, _E_MACHINE, _E_FLAGS = 5, 16, 18, 48
_RV = target.find(support.ISA)
_DT_HASH, _DT_SYMTAB, _DT_RELA = 4, 6, 7


class KernelsTest(support.FolderTest):
    elf: bytes = b""

    def setUp(self) -> None:
        super().setUp()
        # Compiled once. Every test damages a copy.
        if not KernelsTest.elf:
            compiled = support.lower_text(support.ADD, self.folder)
            KernelsTest.elf = compiled.lowered.program.executable

    def changed(self, offset: int, layout: str, value: int) -> bytes:
        """Returns the file with one field overwritten."""
        data = bytearray(self.elf)
        self.assertNotEqual(struct.unpack_from(layout, data, offset)[0], value)
        struct.pack_into(layout, data, offset, value)
        return bytes(data)

    def check(self, kind: str, data: bytes, *parts: str) -> None:
        self.refuses(kind, *parts, call=lambda: kernels.load(data, _RV))

    def headers(self) -> Iterator[tuple[int, reader.Segment]]:
        """Yields the program headers with their offsets in the file."""
        offset = struct.unpack_from("<Q", self.elf, 32)[0]
        for index, segment in enumerate(reader.read(self.elf).segments):
            yield offset + 56 * index, segment

    def file_offset(self, vaddr: int) -> int:
        for _, segment in self.headers():
            inside = segment.vaddr <= vaddr < segment.vaddr + segment.file_size
            if segment.kind == reader.PT_LOAD and inside:
                return vaddr - segment.vaddr + segment.offset
        raise AssertionError(f"{vaddr:#x} is not in the file")

    def dynamic(self, tag: int) -> tuple[int, int]:
        """Returns file offset and value of a dynamic entry."""
        for _, segment in self.headers():
            if segment.kind == reader.PT_DYNAMIC:
                for offset in range(segment.offset, segment.offset + segment.file_size, 16):
                    found, value = struct.unpack_from("<QQ", self.elf, offset)
                    if found == tag:
                        return offset, value
        raise AssertionError(f"no dynamic entry {tag}")

    def test_the_real_file_is_accepted(self) -> None:
        code = kernels.load(self.elf, _RV)
        self.assertEqual(
            [(e.name, e.binding_count, e.constant_count) for e in code.exports],
            [("main_dispatch_0_elementwise_16_f32", 2, 0)],
        )
        self.assertTrue(any(low <= code.exports[0].address < high for low, high in code.text))
        self.assertTrue(code.relocations)
        self.assertIn("zvl256b", code.arch)
        # Whole pages, and no more than needed.
        in_memory = len(reader.read(self.elf).image)
        self.assertEqual(code.loaded_bytes % kernels.PAGE_BYTES, 0)
        self.assertIn(code.loaded_bytes - in_memory, range(kernels.PAGE_BYTES))

    def test_truncated_at_every_length(self) -> None:
        needed = max(s.offset + s.file_size for _, s in self.headers())
        lengths = (*range(0, 1024, 8), *range(1024, needed, 97), needed - 1)
        for length in lengths:
            with self.assertRaises(BmcError, msg=str(length)):
                kernels.load(self.elf[:length], _RV)
        self.check("bad-elf", self.elf[: needed - 1], f"a segment ends at byte {needed} of")
        # bmc uses nothing after the last segment.
        kernels.load(self.elf[:needed], _RV)

    def test_any_flipped_bit_is_refused_or_harmless(self) -> None:
        header_end = 64 + 56 * len(reader.read(self.elf).segments)
        places = [*range(header_end), *self.metadata()]
        refused = 0
        for offset in places:
            for bit in (0, 3, 7):
                data = bytearray(self.elf)
                data[offset] ^= 1 << bit
                try:
                    kernels.load(bytes(data), _RV)
                except BmcError:
                    refused += 1
        # The rest are names, alignments, physical addresses and section headers, which bmc does not use.
        self.assertGreater(refused, len(places))

    def metadata(self) -> Iterator[int]:
        """Yields file offsets of the dynamic section, hash table, symbols and relocations."""
        for _, segment in self.headers():
            if segment.kind == reader.PT_DYNAMIC:
                yield from range(segment.offset, segment.offset + segment.file_size)
        for tag in (_DT_HASH, _DT_SYMTAB, _DT_RELA):
            start = self.file_offset(self.dynamic(tag)[1])
            yield from range(start, start + 48)

    def test_wrong_identity(self) -> None:
        self.check("bad-elf", b"\0" + self.elf[1:], "ELF header")
        self.check("bad-elf", self.changed(_EI_DATA, "<B", 2), "little-endian")
        self.check("bad-elf", self.changed(_E_TYPE, "<H", 2), "type 2")

    def test_wrong_machine(self) -> None:
        self.check(
            "wrong-machine", self.changed(_E_MACHINE, "<H", 62), "x86-64 of 64 bits, not RISC-V"
        )
        self.check("wrong-machine", self.changed(_E_MACHINE, "<H", 8), "machine 8")
        x86 = target.find("x86_64")
        self.refuses("wrong-machine", call=lambda: kernels.load(self.elf, x86))

    def test_wrong_float_abi(self) -> None:
        flags = struct.unpack_from("<I", self.elf, _E_FLAGS)[0]
        self.check("bad-elf", self.changed(_E_FLAGS, "<I", flags & ~6), "lp64d")

    def test_every_relocation_must_be_relative(self) -> None:
        start = self.file_offset(self.dynamic(_DT_RELA)[1])
        for index in range(len(reader.read(self.elf).relocations)):
            at = start + 24 * index + 8
            self.check("unsupported-relocation", self.changed(at, "<I", 2), "relocation kind 2")
            self.check("unsupported-relocation", self.changed(at + 4, "<I", 1))

    def test_relocations_are_those_of_the_file(self) -> None:
        start = self.file_offset(self.dynamic(_DT_RELA)[1])
        code = kernels.load(self.elf, _RV)
        table = self.elf[start:][: 24 * len(code.relocations)]
        in_file = [(slot, addend) for slot, _, addend in struct.iter_unpack("<QQq", table)]
        self.assertEqual(code.relocations, tuple(sorted(in_file)))

    def test_relocations_stay_inside_the_image(self) -> None:
        start = self.file_offset(self.dynamic(_DT_RELA)[1])
        for offset, value in ((0, 1 << 40), (0, 3), (16, 1 << 40), (16, (1 << 64) - 8)):
            self.check("bad-elf", self.changed(start + offset, "<Q", value), "outside its image")

    def test_undefined_symbol(self) -> None:
        symbols = self.file_offset(self.dynamic(_DT_SYMTAB)[1])
        data = bytearray(self.changed(symbols + 24 + 6, "<H", 0))
        self.check("undefined-symbol", bytes(data))
        # As linkers write it, without a value.
        struct.pack_into("<Q", data, symbols + 24 + 8, 0)
        self.check("undefined-symbol", bytes(data))

    def test_imports_of_the_library(self) -> None:
        base = kernels.load(self.elf, _RV).library
        data = self.changed(self.file_offset(base + 8), "<I", 1)
        self.check("undefined-symbol", data, "import 1 functions")

    def test_what_the_runtime_does_not_give(self) -> None:
        code = kernels.load(self.elf, _RV)
        slots = dict(code.relocations)
        header, attributes = slots[code.library], slots[code.library + 40]
        for at, layout, value, part in (
            (header + 20, "<I", 1, "a sanitizer"),
            (code.library + 104, "<I", 1, "executable constants"),
            (attributes, "<Q", 2, "parameters or a workgroup size"),
            (attributes + 22, "<H", 1, "parameters or a workgroup size"),
        ):
            self.check(
                "unsupported-kernels", self.changed(self.file_offset(at), layout, value), part
            )

    def test_dynamic_entries_that_need_a_linker(self) -> None:
        offset, _ = self.dynamic(_DT_RELA)
        for tag, part in ((1, "shared library"), (23, "PLT"), (25, "initialization functions")):
            self.check("bad-elf", self.changed(offset, "<Q", tag), part)

    def test_missing_tables(self) -> None:
        for tag in (_DT_HASH, _DT_SYMTAB):
            offset, _ = self.dynamic(tag)
            self.check("bad-elf", self.changed(offset, "<Q", 0x6FFF0000), "has no DT_")

    def test_writable_code_and_data(self) -> None:
        for offset, segment in self.headers():
            if segment.kind == reader.PT_LOAD and segment.flags & reader.PF_X:
                self.check("bad-elf", self.changed(offset + 4, "<I", 7), "writable and executable")
            if segment.kind == reader.PT_LOAD and segment.flags == 4:
                self.check("writable-data", self.changed(offset + 4, "<I", 6))
            if segment.kind == reader.PT_GNU_RELRO:
                self.check("writable-data", self.changed(offset, "<I", 0x6FFF0000))
                # Only the first byte is read-only after relocation.
                self.check("writable-data", self.changed(offset + 40, "<Q", 1))

    def test_segments_do_not_overlap(self) -> None:
        first, second, *_ = [h for h in self.headers() if h[1].kind == reader.PT_LOAD]
        end = first[1].vaddr + first[1].memory_size
        self.check("bad-elf", self.changed(second[0] + 16, "<Q", end - 1), "segments that overlap")

    def test_huge_memory_size_is_not_allocated(self) -> None:
        for offset, segment in self.headers():
            if segment.kind == reader.PT_LOAD:
                self.check("bad-elf", self.changed(offset + 40, "<Q", 1 << 40))

    def test_arch_string_must_fit_the_target(self) -> None:
        for isa, part in (
            ("rv64gcv_zvl128b", "zvl256b"),
            ("rv64gcv_zvl512b", "VLEN 512"),
            ("rv64gc", "zve64d"),
        ):
            other = target.find(isa)
            self.refuses("wrong-isa", part, call=lambda o=other: kernels.load(self.elf, o))

    def test_kernels_for_longer_vectors(self) -> None:
        elf = support.lower_text(
            support.ADD, self.folder, "rv64gcv_zvl512b"
        ).lowered.program.executable
        self.check("wrong-isa", elf, "zvl512b, which rv64gcv_zvl256b does not have")
        kernels.load(elf, target.find("rv64gcv_zvl512b"))

    def test_instruction_that_no_hart_executes(self) -> None:
        code = kernels.load(self.elf, _RV)
        at = self.file_offset(code.exports[0].address)
        # vslideup.vi v22, v22, 2
        data = self.changed(at, "<I", 0x3B613B57)
        self.check("illegal-instruction", data, code.exports[0].name, "vslideup.vi", "v22")

    def test_unknown_extension(self) -> None:
        at = self.elf.index(b"zvl256b1p0")
        data = self.elf[:at] + b"xvl256b1p0" + self.elf[at + 10 :]
        self.check("wrong-isa", data, "xvl256b")


class Kernels32Test(support.FolderTest):
    """The same for a 32-bit target, whose structures have another layout."""

    _ISA = "rv32imafc_zve32f_zvl128b"
    elf: bytes = b""

    def setUp(self) -> None:
        super().setUp()
        if not Kernels32Test.elf:
            compiled = support.lower_text(support.ADD, self.folder, self._ISA)
            Kernels32Test.elf = compiled.lowered.program.executable

    def test_exports_are_found(self) -> None:
        code = kernels.load(self.elf, target.find(self._ISA))
        self.assertEqual([(e.binding_count, e.constant_count) for e in code.exports], [(2, 0)])
        self.assertEqual(code.pointer_bytes, 4)
        self.assertTrue(code.relocations)

    def test_of_another_width_or_isa(self) -> None:
        for isa, kind, part in (
            ("rv64gc", "wrong-machine", "RISC-V of 32 bits, not RISC-V of 64"),
            ("rv32imac", "bad-elf", "was not compiled for the ilp32 ABI"),
        ):
            other = target.find(isa)
            self.refuses(kind, part, call=lambda o=other: kernels.load(self.elf, o))

    def test_every_truncation(self) -> None:
        target_ = target.find(self._ISA)
        # Sections are at the end, and nothing reads them.
        for size in range(0, elf_reader_end(self.elf), 7):
            self.refuses("bad-elf", call=lambda s=size: kernels.load(self.elf[:s], target_))

    def test_float_calls_need_an_archive(self) -> None:
        error = self.refuses(
            "missing-function",
            "the kernels call __addsf3",
            call=lambda: support.lower_text(support.ADD, self.folder, "rv32imac"),
        )
        self.assertIn("--libcalls", error.hint)


def elf_reader_end(data: bytes) -> int:
    """Returns the end of a file's last segment."""
    return max(s.offset + s.file_size for s in reader.read(data).segments)


if __name__ == "__main__":
    unittest.main()
