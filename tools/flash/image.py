"""Reads a firmware's ELF: what to write where, where it starts, and what it was built for."""

from __future__ import annotations

import dataclasses
import json
import struct
from pathlib import Path

from tools.flash.errors import FlashError

NOTE_SECTION = ".note.ironcast"
NOTE_NAME = b"Ironcast\0"

_PT_LOAD = 1
_ELFCLASS32, _ELFCLASS64 = 1, 2
_LITTLE_ENDIAN = 1
_HEADER_BYTES = {_ELFCLASS32: 52, _ELFCLASS64: 64}


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    """Bytes that must be at the load address `address` when the firmware starts."""

    address: int
    data: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Image:
    """A firmware. `board` is the one that its note names."""

    path: Path
    entry: int
    segments: tuple[Segment, ...]
    board: str
    isa: str
    models: tuple[str, ...]

    @property
    def address(self) -> int:
        """Where the first byte of `flat` belongs."""
        return self.segments[0].address

    def flat(self) -> bytes:
        """All segments as one run of bytes from `address`, zeros between them."""
        end = max(s.address + len(s.data) for s in self.segments)
        flat = bytearray(end - self.address)
        for segment in self.segments:
            start = segment.address - self.address
            flat[start : start + len(segment.data)] = segment.data
        return bytes(flat)


def read(path: Path) -> Image:
    """Reads an image; FlashError when it is not one that Ironcast linked."""
    try:
        elf = path.read_bytes()
    except OSError as error:
        raise FlashError(f"{path} cannot be read ({error.strerror}): build it first") from error
    if elf[:4] != b"\x7fELF" or elf[4] not in _HEADER_BYTES or elf[5] != _LITTLE_ENDIAN:
        raise FlashError(f"{path} is not a little-endian ELF: name the .elf of a firmware")
    try:
        return _parse(path, elf)
    except (struct.error, IndexError, ValueError, KeyError) as error:
        raise FlashError(f"{path} is a damaged ELF ({error}): build it again") from error


def _parse(path: Path, elf: bytes) -> Image:
    wide = elf[4] == _ELFCLASS64
    header = "<HHIQQQIHHHHHH" if wide else "<HHIIIIIHHHHHH"
    fields = struct.unpack_from(header, elf, 16)
    entry, program_offset, section_offset = fields[3:6]
    program_size, program_count, section_size, section_count, names_index = fields[8:13]
    segments = []
    for index in range(program_count):
        at = program_offset + index * program_size
        if wide:
            kind, _, offset, _, physical, size = struct.unpack_from("<IIQQQQ", elf, at)
        else:
            kind, offset, _, physical, size = struct.unpack_from("<IIIII", elf, at)
        if kind != _PT_LOAD or size == 0:
            continue
        if offset + size > len(elf):
            raise ValueError("a segment reaches past the end of the file")
        segments.append(Segment(physical, elf[offset : offset + size]))
    if not segments:
        raise ValueError("nothing to load")
    sections = [
        _section(elf, wide, section_offset + index * section_size) for index in range(section_count)
    ]
    names = sections[names_index][1]
    for name_offset, content in sections:
        name = names[name_offset : names.index(b"\0", name_offset)].decode()
        if name == NOTE_SECTION:
            note = _note(content)
            break
    else:
        raise FlashError(
            f"{path} has no {NOTE_SECTION}: it was not linked by bm_firmware or bm_image; "
            "build it with this version"
        )
    return Image(
        path=path,
        entry=entry,
        segments=tuple(sorted(segments, key=lambda s: s.address)),
        board=str(note["board"]),
        isa=str(note["isa"]),
        models=tuple(str(model) for model in note["models"]),
    )


def _section(elf: bytes, wide: bool, at: int) -> tuple[int, bytes]:
    """A section's offset into the names, and its content."""
    if wide:
        name, kind, _, _, offset, size = struct.unpack_from("<IIQQQQ", elf, at)
    else:
        name, kind, _, _, offset, size = struct.unpack_from("<IIIIII", elf, at)
    nobits = 8
    return name, b"" if kind == nobits else elf[offset : offset + size]


def _note(content: bytes) -> dict[str, list[str] | str]:
    name_size, size, _ = struct.unpack_from("<III", content)
    text = 12 + (name_size + 3) // 4 * 4
    if content[12 : 12 + name_size] != NOTE_NAME:
        raise ValueError(f"{NOTE_SECTION} is somebody else's")
    note: dict[str, list[str] | str] = json.loads(content[text : text + size])
    return note
