"""Makes x86-64 Linux shared libraries with only names in them, and lists the names a library needs.

They have only what glibc's dynamic linker needs to load them: no sections, one page of code and tables.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PAGE = 0x1000
_SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size
_NEEDED, _HASH, _STRTAB, _SYMTAB, _STRSZ, _SYMENT, _SONAME, _RUNPATH = 1, 4, 5, 6, 10, 11, 14, 29
_SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, ...
_SHT_DYNAMIC, _SHT_DYNSYM = 6, 11


@dataclass(frozen=True)
class Wants:
    """What a shared library needs from others."""

    libraries: frozenset[str]
    undefined: frozenset[str]


def read(path: Path) -> Wants:
    """The libraries and symbols that the ELF file at `path` needs; ValueError if it is not one."""
    with path.open("rb") as file:
        if file.read(6) != b"\x7fELF\2\1":
            raise ValueError(f"{path} is not a little-endian 64-bit ELF file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            sections = _sections(data)
            libraries, undefined = set(), set()
            for _, kind, _, _, offset, size, link, *_ in sections:
                names = sections[link][4]
                if kind == _SHT_DYNAMIC:
                    for tag, value in struct.iter_unpack("<qQ", data[offset : offset + size]):
                        if tag == _NEEDED:
                            libraries.add(_text(data, names + value))
                elif kind == _SHT_DYNSYM:
                    for name, _, _, section, *_ in _SYMBOL.iter_unpack(
                        data[offset : offset + size]
                    ):
                        if section == 0 and name:
                            undefined.add(_text(data, names + name))
            return Wants(frozenset(libraries), frozenset(undefined))


def _sections(data: mmap.mmap) -> list[tuple[int, ...]]:
    (start,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    return [_SECTION.unpack_from(data, start + size * index) for index in range(count)]


def _text(data: mmap.mmap, at: int) -> str:
    return data[at : data.find(b"\0", at)].decode()


def encode(soname: str, libraries: Sequence[str], functions: Mapping[str, bytes]) -> bytes:
    """The bytes of a library.

    libraries: others that it also loads, from its own folder. functions: name -> position-independent
    x86-64 code.
    """
    names = bytearray(b"\0")

    def add(name: str) -> int:
        names.extend(name.encode() + b"\0")
        return len(names) - len(name) - 1

    soname_at, runpath_at = add(soname), add("$ORIGIN")
    libraries_at = [add(name) for name in libraries]
    names_at = [add(name) for name in functions]
    # After the ELF header and four program headers: code, symbols, hash table, names.
    blocks: dict[bytes, int] = {}
    code = bytearray()
    for block in functions.values():
        if block not in blocks:
            blocks[block] = len(code)
            code += block.ljust(-(-len(block) // 16) * 16, b"\xcc")
    code_at = 0x40 + 4 * 0x38
    symbols = _SYMBOL.pack(0, 0, 0, 0, 0, 0) + b"".join(
        _SYMBOL.pack(at, 0x12, 0, 1, code_at + blocks[block], len(block))  # global, function
        for at, block in zip(names_at, functions.values(), strict=True)
    )
    symbols_at = code_at + len(code)
    table = _hash_table(list(functions))
    table_at = symbols_at + len(symbols)
    names_start = table_at + len(table)
    text_end = names_start + len(names)
    dynamic_at = -(-text_end // _PAGE) * _PAGE
    tags = [
        (_SONAME, soname_at),
        (_RUNPATH, runpath_at),
        *((_NEEDED, at) for at in libraries_at),
        (_HASH, table_at),
        (_STRTAB, names_start),
        (_STRSZ, len(names)),
        (_SYMTAB, symbols_at),
        (_SYMENT, _SYMBOL.size),
        (0, 0),
    ]
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    head = b"\x7fELF\2\1\1".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0x40, 0, 0, 0x40, 0x38, 4, 0x40, 0, 0)
    for kind, flags, at, size, alignment in (
        (1, 5, 0, text_end, _PAGE),  # loaded, read and execute
        (1, 6, dynamic_at, len(dynamic), _PAGE),  # loaded, read and write
        (2, 6, dynamic_at, len(dynamic), 8),  # the address of the table of tags
        (0x6474E551, 6, 0, 0, 16),  # the stack need not be executable
    ):
        head += struct.pack("<IIQQQQQQ", kind, flags, at, at, at, size, size, alignment)
    text = head + code + symbols + table + names
    return bytes(text.ljust(dynamic_at, b"\0") + dynamic)


def _hash_table(names: list[str]) -> bytes:
    """ELF's own hash table; symbol 0 is no symbol."""
    buckets = [0] * max(1, len(names))
    chains = [0]
    for index, name in enumerate(names, 1):
        bucket = _elf_hash(name) % len(buckets)
        chains.append(buckets[bucket])
        buckets[bucket] = index
    words = [len(buckets), len(chains), *buckets, *chains]
    return struct.pack(f"<{len(words)}I", *words)


def _elf_hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high
    return value
