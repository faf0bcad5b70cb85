"""Reads the parts of an ELF file that bmc checks and prelinks. Trusts nothing in the file.

pyelftools, which tools/flash uses, would leave the checks of ranges to do, and raises more than its own error at a
damaged file: OverflowError, StopIteration, TypeError. Here every range is checked, and every error is a BmcError.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from bmc.errors import BmcError

PT_LOAD = 1
PT_DYNAMIC = 2
PT_GNU_RELRO = 0x6474E552
PT_RISCV_ATTRIBUTES = 0x70000003
PF_X = 1
PF_W = 2
ET_DYN = 3

_DT_NEEDED = 1
_DT_HASH = 4
_DT_STRTAB = 5
_DT_SYMTAB = 6
_DT_RELA = 7
_DT_RELASZ = 8
_DT_STRSZ = 10
_DT_INIT = 12
_DT_FINI = 13
_DT_REL = 17
_DT_TEXTREL = 22
_DT_JMPREL = 23
_DT_INIT_ARRAY = 25
# Entries that show that the file needs a dynamic linker.
_UNSUPPORTED_TAGS = {
    _DT_NEEDED: "needs a shared library",
    _DT_INIT: "has an initialization function",
    _DT_FINI: "has a finalization function",
    _DT_REL: "has REL relocations",
    _DT_TEXTREL: "relocates its code",
    _DT_JMPREL: "has PLT relocations",
    _DT_INIT_ARRAY: "has initialization functions",
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """The structures of a 32-bit or 64-bit file, in the notation of Python's struct module."""

    xlen: int
    header: str
    program: str
    dynamic: str
    relocation: str
    symbol: str
    symbol_bits: int


# Keys are e_ident[EI_CLASS].
_LAYOUTS = {
    1: _Layout(32, "<HHIIIIIHHHHHH", "<IIIIIIII", "<II", "<IIi", "<IIIBBH", 8),
    2: _Layout(64, "<HHIQQQIHHHHHH", "<IIQQQQQQ", "<QQ", "<QQq", "<IBBHQQ", 32),
}


@dataclass(frozen=True, slots=True)
class Segment:
    kind: int
    flags: int
    offset: int
    vaddr: int
    file_size: int
    memory_size: int


@dataclass(frozen=True, slots=True)
class Relocation:
    """At vaddr `offset`, the loader stores a value made from the symbol number and the addend."""

    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str
    value: int
    defined: bool


@dataclass(frozen=True)
class Elf:
    """A parsed file.

    Attributes:
      xlen: 32 or 64, from the file's class.
      machine: e_machine.
      flags: e_flags.
      type: e_type.
      segments: the program headers.
      relocations: the DT_RELA table.
      symbols: the dynamic symbol table without its null entry.
      image: memory image from vaddr 0, with no relocations applied.
      riscv_arch: Tag_RISCV_arch ("rv64i2p1_m2p0_..."), "" if there is none.
    """

    xlen: int
    machine: int
    flags: int
    type: int
    segments: tuple[Segment, ...]
    relocations: tuple[Relocation, ...]
    symbols: tuple[Symbol, ...]
    image: bytes
    riscv_arch: str


def bad(message: str, hint: str = "") -> BmcError:
    return BmcError("bad-elf", f"the kernels' ELF file {message}", hint=hint)


def read(data: bytes) -> Elf:
    """Parses an ELF file; raises BmcError("bad-elf") if it is malformed or truncated."""
    if data[:4] != b"\x7fELF":
        raise bad("does not start with an ELF header")
    layout = _LAYOUTS.get(data[4]) if len(data) > 5 else None
    if layout is None or data[5] != 1:
        raise bad("is not a little-endian file with 32 or 64 bits")
    header = _unpack(layout.header, data, 16, "header")
    program_offset, entry_size, count = header[4], header[8], header[9]
    if entry_size != struct.calcsize(layout.program):
        raise bad(
            f"has program headers of {entry_size} bytes, not {struct.calcsize(layout.program)}"
        )
    segments = tuple(_segment(data, program_offset + i * entry_size, layout) for i in range(count))
    image = _image(data, segments)
    dynamic = _dynamic(data, segments, layout)
    relocations, symbols = _tables(image, dynamic, layout)
    return Elf(
        layout.xlen,
        header[1],
        header[6],
        header[0],
        segments,
        relocations,
        symbols,
        image,
        _riscv_arch(data, segments),
    )


def _segment(data: bytes, offset: int, layout: _Layout) -> Segment:
    fields = _unpack(layout.program, data, offset, "program header")
    if layout.xlen == 32:  # the flags follow the sizes
        fields = (fields[0], fields[6], *fields[1:6], fields[7])
    kind, flags, file_offset, vaddr, _, file_size, memory_size, _ = fields
    if file_offset > len(data) or file_size > len(data) - file_offset:
        raise bad(f"is truncated: a segment ends at byte {file_offset + file_size} of {len(data)}")
    return Segment(kind, flags, file_offset, vaddr, file_size, memory_size)


def _image(data: bytes, segments: tuple[Segment, ...]) -> bytes:
    loads = [segment for segment in segments if segment.kind == PT_LOAD]
    # Kernels take kilobytes. A corrupt size must not make bmc allocate gigabytes.
    limit = 64 * len(data) + (1 << 20)
    end = 0
    for load in loads:
        if (
            load.memory_size < load.file_size
            or load.vaddr < end
            or load.vaddr + load.memory_size > limit
        ):
            raise bad("has segments that overlap or lie outside any sensible range")
        end = load.vaddr + load.memory_size
    image = bytearray(end)
    for load in loads:
        image[load.vaddr : load.vaddr + load.file_size] = data[
            load.offset : load.offset + load.file_size
        ]
    return bytes(image)


def _dynamic(data: bytes, segments: tuple[Segment, ...], layout: _Layout) -> dict[int, int]:
    entries: dict[int, int] = {}
    size = struct.calcsize(layout.dynamic)
    for segment in segments:
        if segment.kind == PT_DYNAMIC:
            for offset in range(
                segment.offset, segment.offset + segment.file_size - size + 1, size
            ):
                tag, value = struct.unpack_from(layout.dynamic, data, offset)
                if tag == 0:
                    break
                entries[tag] = value
    for tag, problem in _UNSUPPORTED_TAGS.items():
        if tag in entries:
            raise bad(
                problem, hint="the runtime has no dynamic linker; kernels must be self-contained"
            )
    return entries


def _tables(
    image: bytes, dynamic: dict[int, int], layout: _Layout
) -> tuple[tuple[Relocation, ...], tuple[Symbol, ...]]:
    for tag, name in ((_DT_HASH, "DT_HASH"), (_DT_STRTAB, "DT_STRTAB"), (_DT_SYMTAB, "DT_SYMTAB")):
        if tag not in dynamic:
            raise bad(f"has no {name}")
    size = struct.calcsize(layout.relocation)
    bits = layout.symbol_bits
    relocations = tuple(
        Relocation(offset, info & ((1 << bits) - 1), info >> bits, addend)
        for offset, info, addend in (
            _unpack(layout.relocation, image, dynamic.get(_DT_RELA, 0) + size * i, "relocation")
            for i in range(dynamic.get(_DT_RELASZ, 0) // size)
        )
    )
    size = struct.calcsize(layout.symbol)
    _, symbol_count = _unpack("<II", image, dynamic[_DT_HASH], "hash table")
    symbols = []
    for i in range(1, symbol_count):
        fields = _unpack(layout.symbol, image, dynamic[_DT_SYMTAB] + size * i, "symbol")
        if layout.xlen == 32:  # the value comes first
            fields = (fields[0], *fields[3:], *fields[1:3])
        name_offset, _, _, section, value, _ = fields
        symbols.append(
            Symbol(c_string(image, dynamic[_DT_STRTAB] + name_offset), value, section != 0)
        )
    return relocations, tuple(symbols)


def c_string(image: bytes, offset: int) -> str:
    """Returns the NUL-terminated ASCII string at `offset`; raises BmcError if there is none."""
    end = image.find(b"\0", offset) if 0 <= offset < len(image) else -1
    if end < 0 or end - offset > 4096:
        raise bad(f"has a name at {offset:#x} that does not end")
    try:
        return image[offset:end].decode("ascii")
    except UnicodeDecodeError:
        raise bad(f"has a name at {offset:#x} that is not ASCII") from None


def _riscv_arch(data: bytes, segments: tuple[Segment, ...]) -> str:
    """Returns Tag_RISCV_arch (tag 5, a string) from the attributes of the vendor "riscv"."""
    for segment in segments:
        if segment.kind == PT_RISCV_ATTRIBUTES:
            blob = data[segment.offset : segment.offset + segment.file_size]
            start = blob.find(b"\x05rv")
            if not blob.startswith(b"A") or b"riscv\0" not in blob or start < 0:
                raise bad("has a malformed attributes section")
            return c_string(blob, start + 1)
    return ""


def _unpack(layout: str, data: bytes, offset: int, what: str) -> tuple[int, ...]:
    size = struct.calcsize(layout)
    if offset < 0 or offset > len(data) or size > len(data) - offset:
        raise bad(f"is truncated: its {what} at {offset:#x} is past the end")
    return struct.unpack_from(layout, data, offset)
