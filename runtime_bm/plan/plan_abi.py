"""Writes plan_abi.json: what a C compiler says of plan_abi.c, from the debug information of its object.

Offsets and sizes are for 64-bit targets; for 32-bit targets there are only sizes, those of BM_ABI_SIZE, which fails to
compile where they are wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

# Types that nothing uses are described too. The layout is the same on all 64-bit targets, and pyelftools does not know
# the relocations in debug information of RISC-V.
_FLAGS = ("--target=x86_64-elf", "-ffreestanding", "-g", "-fno-eliminate-unused-debug-types")
# Enumerations by their names in the file: what their constants begin with, and the first one without it.
_ENUMS = {
    "dtype": ("BM_DTYPE_", "BOOL"),
    "isa": ("BM_ISA_", "RV64"),
    "region": ("BM_PLAN_REGION_", "ARENA"),
    "access": ("BM_PLAN_ACCESS_", "READ"),
    "command": ("BM_COMMAND_", "DISPATCH"),
    "command_flags": ("BM_COMMAND_", "BARRIER"),
    "limits": ("", "ALIGNMENT"),
    "golden_policy": ("BM_GOLDEN_", "EXACT"),
}
# Of an enumeration whose last constant counts the others.
_COUNT = "COUNT"
# BM_ABI_SIZE makes such a constant for each struct.
_SIZE_32 = "_bytes_32"
# Structs by what their names begin with, in the order of the file.
_STRUCTS = ("bm_plan_", "bm_check_", "bm_golden_")


class AbiError(Exception):
    """The headers lack something that the file has; the text is for who changed them."""


def layout(clang: Path, source: Path, flags: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the content of the file.

    Args:
      clang: the compiler.
      source: plan_abi.c.
      flags: where its headers are.

    Raises:
      AbiError: an enumeration or the version is not in the source.
    """
    with tempfile.TemporaryDirectory() as scratch:
        compiled = Path(scratch, "plan_abi.o")
        command = [str(clang.absolute()), *_FLAGS, *flags, "-c", str(source), "-o", str(compiled)]
        subprocess.run(command, check=True)
        with compiled.open("rb") as file:
            (unit,) = ELFFile(file).get_dwarf_info().iter_CUs()
            return _described(list(unit.iter_DIEs()))


def _described(dies: Sequence[DIE]) -> dict[str, Any]:
    enums = [
        {_name(each): each.attributes["DW_AT_const_value"].value for each in die.iter_children()}
        for die in dies
        if die.tag == "DW_TAG_enumeration_type"
    ]
    constants = {name: value for enum in enums for name, value in enum.items()}
    structs = {_name(die): die for die in dies if die.tag == "DW_TAG_structure_type"}
    sized = [name.removesuffix(_SIZE_32) for name in constants if name.endswith(_SIZE_32)]
    if "BM_PLAN_ABI_VERSION" not in constants:
        raise AbiError("the headers have no BM_PLAN_ABI_VERSION")
    return {
        "version": constants["BM_PLAN_ABI_VERSION"],
        "enums": {
            name: _numbers(enums, prefix, prefix + first)
            for name, (prefix, first) in _ENUMS.items()
        },
        "structs": {
            name: {
                "bytes": _bytes(structs[name]),
                "bytes_32": constants[name + _SIZE_32],
                "fields": {
                    _name(field): {
                        "offset": field.attributes["DW_AT_data_member_location"].value,
                        "bytes": _bytes(field.get_DIE_from_attribute("DW_AT_type")),
                    }
                    for field in structs[name].iter_children()
                },
            }
            for prefix in _STRUCTS
            for name in sized
            if name.startswith(prefix)
        },
    }


def _numbers(enums: Sequence[dict[str, int]], prefix: str, first: str) -> dict[str, int]:
    for enum in enums:
        if next(iter(enum)) == first:
            numbers = {name.removeprefix(prefix): value for name, value in enum.items()}
            return {name: value for name, value in numbers.items() if name != _COUNT}
    raise AbiError(f"no enumeration begins with {first}: correct _ENUMS of plan_abi.py")


def _name(die: DIE) -> str:
    name = die.attributes.get("DW_AT_name")
    return name.value.decode() if name else ""


def _bytes(die: DIE) -> int:
    """The size of a type."""
    if "DW_AT_byte_size" in die.attributes:
        return int(die.attributes["DW_AT_byte_size"].value)
    if die.tag == "DW_TAG_pointer_type":
        return int(die.cu["address_size"])
    count = 1
    if die.tag == "DW_TAG_array_type":
        for extent in die.iter_children():
            count *= extent.attributes["DW_AT_count"].value
    return count * _bytes(die.get_DIE_from_attribute("DW_AT_type"))


def text(content: dict[str, Any]) -> str:
    """Returns the file: JSON with a line for each number and for each field."""
    lines = json.dumps(content, indent=2)
    field = r'\{\s+("offset": \d+,)\s+("bytes": \d+)\s+\}'
    return re.sub(field, r"{\1 \2}", lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True, help="plan_abi.c")
    parser.add_argument("--out", type=Path, required=True)
    options, flags = parser.parse_known_args()
    try:
        content = layout(options.clang, options.source, flags)
    except AbiError as error:
        print(f"{options.source}: {error}", file=sys.stderr)
        return 1
    options.out.write_text(text(content))
    return 0


if __name__ == "__main__":
    sys.exit(main())
