"""Reads a plan from the object file of plan.c, in the form that accept.c takes.

The plan's variables are found from the pointers to them in bm_plan_t; plan_abi.json has the order of its fields.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Symbol, SymbolTableSection

from tools.cli import UserError

_ABI = Path(__file__).absolute().parents[3] / "runtime_bm/plan/plan_abi.json"
_STRUCTS = json.loads(_ABI.read_text())["structs"]

# places_t of accept.c.
_PLACES = Struct("<13I")
_WORD = Struct("<I")

# Weights and kernels are in other files, which align them as much as anything is.
_MOST_ALIGNED = 64


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a variable begins, and the struct that it is, if any. `section` is None if another file defines it."""

    section: int | None
    offset: int
    struct: str = ""


class _Object:
    def __init__(self, elf: ELFFile) -> None:
        self._elf = elf
        self._pointer_bytes = elf.elfclass // 8
        symbols = elf.get_section_by_name(".symtab")
        assert isinstance(symbols, SymbolTableSection)
        self._symbols = symbols

    def plan(self, name: str) -> _Place:
        for symbol in self._symbols.get_symbol_by_name(name) or ():
            return _place(symbol, 0, "bm_plan_t")
        raise UserError(f"defines no {name}")

    def pointer(self, struct: _Place | None, field: str, to: str = "") -> _Place | None:
        """Returns what a pointer in a struct points to; None for NULL or without a struct. to: the struct there."""
        if struct is None:
            return None
        at = struct.offset + self._before(struct, field)
        for section in self._elf.iter_sections("SHT_RELA"):
            if not isinstance(section, RelocationSection) or section["sh_info"] != struct.section:
                continue
            for relocation in section.iter_relocations():
                if relocation["r_offset"] == at:
                    symbol = self._symbols.get_symbol(relocation["r_info_sym"])
                    return _place(symbol, relocation["r_addend"], to)
        return None

    def _before(self, struct: _Place, field: str) -> int:
        """Bytes of a struct before a field: there are only pointers."""
        return list(_STRUCTS[struct.struct]["fields"]).index(field) * self._pointer_bytes

    def address(self, place: _Place | None) -> int:
        """Returns an address that is aligned as the variable is, 0 for none."""
        if place is None:
            return 0
        if place.section is None:
            return _MOST_ALIGNED
        aligned = int(self._elf.get_section(place.section)["sh_addralign"])
        return min(place.offset & -place.offset or aligned, aligned, _MOST_ALIGNED)

    def data(self, place: _Place | None, field: str = "") -> bytes:
        """Returns a variable, a struct from a field on; each variable has its own section."""
        if place is None or place.section is None:
            return b""
        start = place.offset + (self._before(place, field) if field else 0)
        return bytes(self._elf.get_section(place.section).data()[start:])


def read(path: Path, name: str) -> bytes:
    """Returns the plan of a model: places_t of accept.c, then the header with its tables, bindings and constants.

    Args:
      path: plan.c, compiled for any machine.
      name: prefix of the model's C symbols.

    Raises:
      UserError: the file is no ELF file, or has no such plan.
    """
    try:
        with path.open("rb") as file:
            return _read(_Object(ELFFile(file)), name)
    except ELFError as error:
        raise UserError(
            f"{path} is no ELF file ({error}): compile models without link-time optimization"
        ) from error
    except UserError as error:
        raise UserError(f"{path} {error}: name it as the plan's C symbols") from error


def _read(elf: _Object, name: str) -> bytes:
    plan = elf.plan(f"{name}_plan")
    executables = elf.pointer(plan, "executables", "bm_plan_executable_t")
    tables = [elf.data(elf.pointer(plan, field)) for field in ("header", "bindings", "constants")]
    elf_bytes = _WORD.unpack_from(elf.data(executables, "elf_bytes"))[0] if executables else 0
    places = _PLACES.pack(
        elf.address(elf.pointer(plan, "weights")),
        elf.address(elf.pointer(plan, "state")),
        elf.address(elf.pointer(plan, "fast")),
        elf.address(executables),
        elf.address(elf.pointer(plan, "drivers")),
        elf.address(elf.pointer(executables, "library_query")),
        elf.address(elf.pointer(executables, "elf")),
        elf_bytes,
        elf.address(elf.pointer(plan, "functions")),
        elf.address(elf.pointer(plan, "table")),
        *map(len, tables),
    )
    return places + b"".join(tables)


def _place(symbol: Symbol, addend: int, struct: str) -> _Place:
    section = symbol["st_shndx"]
    offset = symbol["st_value"] + addend
    return _Place(None if section == "SHN_UNDEF" else section, offset, struct)
