"""Where the parts of a linked image are in its ELF, told from sections and symbols.

Not from the image's own table of checks: what a check does not cover must be attacked too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

# What a model consists of.
MODEL = ("weights", "kernels", "plan")
# Everything else that is in the image but for golden data: damaged golden data makes a right answer FAIL.
RUNTIME = "runtime"

_MODEL_SECTIONS = {".bm.weights": "weights", ".bm.kernels": "kernels"}
_GOLDEN = ".bm.golden"
# The source that bmc writes: tables, also those that drivers change, and the drivers' code.
_PLAN_SOURCE = "plan.c"
_PLAN_SUFFIX = "_plan"


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes [offset, offset + size) of the file."""

    offset: int
    size: int


def find(path: Path) -> dict[str, tuple[Region, ...]]:
    """Returns the regions of each part that the image of one model has."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        parts: dict[str, tuple[Region, ...]] = {}
        rest = []
        for section in elf.iter_sections():
            if section["sh_type"] != "SHT_PROGBITS" or not section["sh_flags"] & SH_FLAGS.SHF_ALLOC:
                continue
            whole = Region(section["sh_offset"], section["sh_size"])
            if section.name in _MODEL_SECTIONS:
                parts[_MODEL_SECTIONS[section.name]] = (whole,)
            elif section.name != _GOLDEN:
                rest.append(whole)
        plan = tuple(sorted(set(_plan(elf)), key=lambda region: region.offset))
        return parts | {"plan": plan, RUNTIME: tuple(_without(rest, plan))}


def _plan(elf: ELFFile) -> Iterator[Region]:
    symbols = elf.get_section_by_name(".symtab")
    source = ""
    for symbol in symbols.iter_symbols():
        info = symbol["st_info"]
        if info["type"] == "STT_FILE":
            source = symbol.name
        is_local = info["bind"] == "STB_LOCAL"
        if not (source == _PLAN_SOURCE if is_local else symbol.name.endswith(_PLAN_SUFFIX)):
            continue
        if info["type"] not in ("STT_OBJECT", "STT_FUNC") or not symbol["st_size"]:
            continue
        section: Section = elf.get_section(symbol["st_shndx"])
        # Not what startup clears, such as the model's state.
        if section["sh_type"] == "SHT_PROGBITS":
            at = section["sh_offset"] + symbol["st_value"] - section["sh_addr"]
            yield Region(at, symbol["st_size"])


def _without(regions: list[Region], holes: tuple[Region, ...]) -> Iterator[Region]:
    """The rest of `regions` around `holes`, which are sorted, apart, and each inside a region."""
    for region in regions:
        start, end = region.offset, region.offset + region.size
        for hole in holes:
            if start <= hole.offset < end:
                yield Region(start, hole.offset - start)
                start = hole.offset + hole.size
        yield Region(start, end - start)
