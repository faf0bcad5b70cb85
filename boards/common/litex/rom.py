"""Writes the words of a ROM from an ELF, for Verilog's $readmemh."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile


class RomError(Exception):
    """One sentence for the user."""


def contents(elf: Path, base: int, size: int) -> bytes:
    """Returns the `size` bytes of a ROM at `base` that holds an ELF; raises RomError if that lies elsewhere."""
    rom = bytearray(size)
    with elf.open("rb") as file:
        for segment in ELFFile(file).iter_segments("PT_LOAD"):
            data, at = segment.data(), segment["p_paddr"] - base
            if data and not 0 <= at <= size - len(data):
                raise RomError(
                    f"{elf.name} has {len(data)} bytes at {segment['p_paddr']:#x}, outside the ROM "
                    f"({size} bytes at {base:#x}): set rom_bytes"
                )
            rom[at : at + len(data)] = data
    return bytes(rom)


def words(rom: bytes) -> str:
    """Returns little-endian words of 32 bits, one a line."""
    return "".join(rom[at : at + 4][::-1].hex() + "\n" for at in range(0, len(rom), 4))


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="rom", description=__doc__)
    parser.add_argument("--csr", type=Path, required=True, help="csr.json of the system")
    parser.add_argument("--elf", type=Path, required=True, help="what the ROM holds")
    parser.add_argument("--out", type=Path, required=True, help="file of words")
    options = parser.parse_args(args)
    rom = json.loads(options.csr.read_text())["memories"]["rom"]
    try:
        options.out.write_text(words(contents(options.elf, rom["base"], rom["size"])))
    except RomError as error:
        print(f"rom: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
