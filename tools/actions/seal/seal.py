"""Makes the checks of a linked image: fills in the sums of all rows in .bm.checks.

runtime_bm/base/check.h describes rows and sums. This is done after linking, because only then do the
bytes of code and kernels, with their addresses in them, exist. An image with an instruction that its instruction
set lacks gets none (instructions.py).
"""

from __future__ import annotations

import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile

from tools import cli, damaged_elf
from tools.actions.persistent_worker import persistent_worker
from tools.actions.seal import instructions
from tools.cli import UserError

SECTION = ".bm.checks"

_WORD_BYTES = 4

# bm_check_t: start, end, sum.words, sum.places, guard.
_ROWS = {32: struct.Struct("<IIQQI4x"), 64: struct.Struct("<QQQQQ")}


@dataclass(frozen=True, slots=True)
class Row:
    """A range of an image over which there is a check.

    Attributes:
      place: where the row is in the file.
      start, end: the addresses of the range.
      offset: where the range's bytes are in the file.
    """

    place: int
    start: int
    end: int
    offset: int


def sums(data: bytes | bytearray) -> tuple[int, int]:
    """Returns bm_sum_t of whole words: `words` and `places`."""
    words = np.frombuffer(data, "<u4").astype(np.uint64)
    # Arithmetic of uint64 wraps, as the runtime's does.
    return int(words.sum()), int(words.cumsum().sum())


def rows(elf: ELFFile) -> list[Row]:
    """Returns the rows of an image, in the order of the linker.

    Raises:
      UserError: a range is not in the image, ends before it starts, or does not consist of words.
    """
    section = elf.get_section_by_name(SECTION)
    if section is None:
        return []
    row = _ROWS[elf.elfclass]
    # One without data has any size, all zeros.
    if section["sh_type"] != "SHT_PROGBITS":
        raise UserError(f"{SECTION} has no data: link the image again")
    data = section.data()
    if len(data) % row.size:
        raise UserError(f"{SECTION} has {len(data)} bytes, which are not rows of {row.size}")
    found = []
    for at in range(0, len(data), row.size):
        start, end, *_ = row.unpack_from(data, at)
        if start % _WORD_BYTES or end % _WORD_BYTES:
            raise UserError(
                f"the range {start:#x} to {end:#x} is not aligned to {_WORD_BYTES} bytes"
            )
        if end < start:
            raise UserError(f"the range {start:#x} to {end:#x} ends before it starts")
        found.append(Row(section["sh_offset"] + at, start, end, _offset(elf, start, end)))
    return found


def seal(image: bytearray, elf: ELFFile) -> None:
    """Fills in the rows of `image`, the contents of `elf`."""
    row = _ROWS[elf.elfclass]
    for at in rows(elf):
        words, places = sums(image[at.offset : at.offset + at.end - at.start])
        guard = ~(at.start ^ at.end) % 2**elf.elfclass
        row.pack_into(image, at.place, at.start, at.end, words, places, guard)


def seal_file(linked: Path, out: Path) -> None:
    """Writes the image of a linked ELF with its checks; `out` may be the same file."""
    image = bytearray(linked.read_bytes())
    with linked.open("rb") as file:
        seal(image, ELFFile(file))
    out.write_bytes(image)


def _offset(elf: ELFFile, start: int, end: int) -> int:
    """Where a range is in the file. Its addresses are those where the image is stored, before startup
    copies variables to where they run."""
    if start == end:
        return 0
    for segment in elf.iter_segments("PT_LOAD"):
        first = segment["p_paddr"]
        if first <= start and end <= first + segment["p_filesz"]:
            if segment["p_offset"] + segment["p_filesz"] > elf.stream_len:
                raise UserError("a segment reaches past the end of the file: link the image again")
            return int(segment["p_offset"] + start - first)
    raise UserError(f"the range {start:#x} to {end:#x} is not in the image")


@cli.program("seal", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("linked", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--objdump", required=True, help="LLVM's disassembler")
    parser.add_argument("--isa", required=True, help="the image's instruction set")
    parser.add_argument("--march", required=True, help="its extensions, as for -march")
    parser.add_argument("--unnamed", action="append", default=[], help="one that -march lacks")
    options = parser.parse_args(args)
    isa = instructions.Isa(options.isa, options.march, tuple(options.unnamed))
    try:
        instructions.check(options.linked, options.objdump, isa)
        seal_file(options.linked, options.out)
    except UserError as error:
        return _fail(options.linked, str(error))
    except OSError as error:
        return _fail(Path(error.filename or options.linked), f"{error.strerror}")
    except subprocess.CalledProcessError:
        return _fail(options.linked, "the disassembler cannot read it: link the image again")
    except damaged_elf.ERRORS:
        return _fail(options.linked, "it is no whole ELF: link the image again")
    return 0


def _fail(file: Path, sentence: str) -> int:
    print(f"{file}: {sentence}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(persistent_worker.run(main, sys.argv[1:]))
