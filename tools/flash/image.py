"""Reads a firmware's ELF: what to write where, where it starts, and what it was built for."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from tools import damaged_elf
from tools.cli import UserError

NOTE_SECTION = ".note.ironcast"
NOTE_NAME = "Ironcast"

# Those of a note, and of a firmware as one run of bytes, which is held in memory.
_MAX_NOTE_BYTES = 1 << 20
_MAX_FLAT_BYTES = 2 << 30
# Bytes of an entry of the program header table.
_HEADER_BYTES = {32: 32, 64: 56}


class _DamageError(Exception):
    """What is wrong with an ELF, for a sentence."""


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    """Bytes that must be at the load address `address` when the firmware starts."""

    address: int
    data: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Image:
    """A firmware. `board` is the one that its note names.

    `memory` is what it takes when it runs, as (address, bytes): variables, which startup copies from where they are
    loaded, and what has no data, such as the stack.
    """

    path: Path
    entry: int
    segments: tuple[Segment, ...]
    memory: tuple[tuple[int, int], ...]
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
        if end - self.address > _MAX_FLAT_BYTES:
            raise UserError(
                f"{self.path.name} reaches from {self.address:#x} to {end:#x}: as one piece it may have "
                f"{_MAX_FLAT_BYTES} bytes; link it without the gap"
            )
        flat = bytearray(end - self.address)
        for segment in self.segments:
            start = segment.address - self.address
            flat[start : start + len(segment.data)] = segment.data
        return bytes(flat)


def read(path: Path) -> Image:
    """Reads an image; UserError when it is not one that Ironcast linked."""
    try:
        if not path.is_file() and path.exists():
            raise UserError(f"{path} is no file: name the .elf of a firmware")
        if path.stat().st_size > _MAX_FLAT_BYTES:
            raise UserError(
                f"{path} has more than {_MAX_FLAT_BYTES} bytes: no firmware is so large"
            )
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): build it first") from error
    if not data.startswith(b"\x7fELF"):
        raise UserError(f"{path} is not an ELF: name the .elf of a firmware")
    try:
        return _parse(path, ELFFile(io.BytesIO(data)), len(data))
    except _DamageError as error:
        raise UserError(f"{path} is a damaged ELF ({error}): build it again") from error
    except damaged_elf.ERRORS as error:
        raise UserError(f"{path} is a damaged ELF: build it again") from error


def _parse(path: Path, elf: ELFFile, size: int) -> Image:
    if elf["e_machine"] != "EM_RISCV" or not elf.little_endian:
        raise UserError(f"{path} is not for RISC-V: name the .elf of a firmware")
    if elf["e_type"] != "ET_EXEC":
        raise UserError(f"{path} is not linked to run at an address: name the .elf of a firmware")
    if elf["e_phentsize"] != _HEADER_BYTES[elf.elfclass]:
        raise _DamageError(f"it says that program headers have {elf['e_phentsize']} bytes")
    segments = []
    memory = []
    left, starts = size, False
    for header in elf.iter_segments("PT_LOAD"):
        # Segments that share bytes could be read thousands of times.
        left -= header["p_filesz"]
        if header["p_filesz"] > header["p_memsz"]:
            raise _DamageError("a segment has more data than memory")
        starts |= 0 <= elf["e_entry"] - header["p_vaddr"] < header["p_memsz"]
        if left < 0:
            raise _DamageError("a segment reaches past the end of the file, or into another one")
        data = header.data()
        if len(data) != header["p_filesz"]:
            raise _DamageError("a segment reaches past the end of the file")
        if data:
            segments.append(Segment(header["p_paddr"], data))
        if header["p_memsz"]:
            memory.append((header["p_vaddr"], header["p_memsz"]))
    loaded = [(segment.address, len(segment.data)) for segment in segments]
    if not segments:
        raise _DamageError("nothing to load")
    if _overlap(loaded) or _overlap(memory):
        raise _DamageError("two segments overlap")
    if not starts:
        raise _DamageError(f"it starts at {elf['e_entry']:#x}, where no segment is")
    section = elf.get_section_by_name(NOTE_SECTION)
    if not isinstance(section, NoteSection):
        raise UserError(
            f"{path} has no {NOTE_SECTION}: it was not linked by bm_firmware or bm_image; "
            "build it with this version"
        )
    (note,) = section.iter_notes()
    if note["n_name"] != NOTE_NAME:
        raise _DamageError(f"{NOTE_SECTION} is somebody else's")
    if len(note["n_descdata"]) > _MAX_NOTE_BYTES:
        raise _DamageError(f"{NOTE_SECTION} has more than {_MAX_NOTE_BYTES} bytes")
    text = json.loads(note["n_descdata"])
    return Image(
        # A program that is given it never takes it for an option.
        path=path.absolute(),
        entry=elf["e_entry"],
        segments=tuple(sorted(segments, key=lambda s: s.address)),
        memory=tuple(sorted(memory)),
        board=str(text["board"]),
        isa=str(text["isa"]),
        models=tuple(str(model) for model in text["models"]),
    )


def _overlap(ranges: list[tuple[int, int]]) -> bool:
    """Whether any of some ranges, which are (address, bytes), reaches into another one."""
    ordered = sorted(ranges)
    return any(
        start + size > following
        for (start, size), (following, _) in zip(ordered, ordered[1:], strict=False)
    )
