"""Writes the words of a ROM from an ELF, for Verilog's $readmemh."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tools import cli


def contents(elf: Path, base: int, size: int) -> bytes:
    """Returns the `size` bytes of a ROM at `base` that holds an ELF; raises UserError if that lies elsewhere."""
    rom = bytearray(size)
    with elf.open("rb") as file:
        for segment in ELFFile(file).iter_segments("PT_LOAD"):
            data, at = segment.data(), segment["p_paddr"] - base
            if data and not 0 <= at <= size - len(data):
                raise cli.UserError(
                    f"{elf.name} has {len(data)} bytes at {segment['p_paddr']:#x}, outside the ROM "
                    f"({size} bytes at {base:#x}): set rom_bytes"
                )
            rom[at : at + len(data)] = data
    return bytes(rom)


def words(rom: bytes) -> str:
    """Returns little-endian words of 32 bits, one a line."""
    return "".join(rom[at : at + 4][::-1].hex() + "\n" for at in range(0, len(rom), 4))


@cli.program("rom", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--csr", type=Path, required=True, help="csr.json of the system")
    parser.add_argument("--elf", type=Path, required=True, help="what the ROM holds")
    parser.add_argument("--out", type=Path, required=True, help="file of words")
    options = parser.parse_args(args)
    rom = json.loads(options.csr.read_text())["memories"]["rom"]
    options.out.write_text(words(contents(options.elf, rom["base"], rom["size"])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
