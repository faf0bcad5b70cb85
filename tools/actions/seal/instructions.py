"""Finds instructions in a linked image that its instruction set lacks.

Compilers refuse most of them, but not in assembly that names extensions by itself, in an encoding that is given as a
number, in a library that was compiled for another hart, or in a vector instruction that is illegal only for the width
of element that is set before it. So the bytes that will run are read, by LLVM's disassembler, restricted to the
instruction set's own extensions.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from tools.cli import UserError

_PRIVATE = ("--no-show-raw-insn", "--no-leading-headers")
# Functions of the runtime that every image has. Those of boards/common/probe.h are executed to see whether the hart has
# an extension. Those of runtime_bm/plan/plan_transfer.c execute vectors only on a hart that has been seen to have them.
_GUARDED = (
    "bm_plan_copy", "bm_plan_fill", "try_xsmtvdot", "try_zvdot4a8i", "try_zvfbfmin", "try_zvfbfwma", "try_zvfh",
)  # fmt: skip
# Extensions that -march does not know, as (mask, value) of their instructions.
_UNNAMED = {
    "p": ((0x8000007F, 0x8000001B), (0x8000007F, 0x8000003B), (0xFE00707F, 0x08004033)),
    "xsmtvdot": ((0x7F, 0x2B),),
    "zvdot4a8i": ((0xE400307F, 0xA0002057),),
}
# No extension may use it: whoever writes it wants a trap.
_NEVER = 0xFFFFFFFF
# What an unknown instruction may belong to, to say so.
_KNOWN = (
    "m", "a", "f", "d", "c", "zicsr", "zifencei", "zfhmin", "zfh", "zfa", "zba", "zbb", "zbc", "zbs", "zbkb", "zbkc",
    "zbkx", "zicond", "zicbom", "zicboz", "zcb", "zacas", "zawrs", "zve32f", "v", "zvfhmin", "zvfh", "zvbb", "zvbc",
    "zfbfmin", "zvfbfmin", "zvfbfwma", "zknd", "zkne", "zknh", "xtheadba", "xtheadbb", "xtheadmac", "xtheadvdot",
)  # fmt: skip
_ARCH = re.compile(r"^rv(?:32|64)[ie]\d+p\d+")
_LINE = re.compile(
    r"^(?:[0-9a-f]+ <(?P<symbol>.+)>:"
    r"|\s*(?P<address>[0-9a-f]+):\s+"
    r"(?P<name><unknown>|vset\w+|vm?f\S+|v[wn]\S+|b[eglnt]\w+|j\w*|c\.j\w*|c\.b\w+|[ms]?ret)"
    r"(?:[ \t]+(?P<operands>.*))?)$",
    re.MULTILINE,
)
_TARGET = re.compile(r"\b0x([0-9a-f]+)(?: <[^>]*>)?$")
_TYPE = re.compile(r"\be(\d+), m(f?)(\d)\b")
_WIDENS = re.compile(r"^vf?w|^vfncvt|^vn(sr[al]|clipu?)\.w")
_TO_WIDE_FLOAT = re.compile(r"^vfwcvt\.f\.xu?\.v$|^vfncvt\.(rtz\.)?xu?\.f\.w$")
_TO_FLOAT = re.compile(r"^vfwcvt\.(rtz\.)?xu?\.f\.v$|^vfncvt\.f\.xu?\.w$")


@dataclasses.dataclass(frozen=True)
class Isa:
    """An instruction set, as compiler/bmc/isas.bzl describes it.

    Attributes:
      name: as users type it.
      march: extensions, as for -march.
      unnamed: extensions that -march does not know.
    """

    name: str
    march: str
    unnamed: tuple[str, ...] = ()

    @property
    def extensions(self) -> tuple[str, ...]:
        base, *longer = self.march.split("_")
        return (*base[5:], *longer)

    @property
    def has_vectors(self) -> bool:
        return "v" in self.extensions or "zve32f" in self.extensions

    @property
    def widest(self) -> int:
        """Bits of the widest element of a vector."""
        return 64 if "v" in self.extensions else 32

    @property
    def floats(self) -> tuple[int, ...]:
        """Widths of floats in vectors."""
        halves = (16,) if "zvfh" in self.extensions else ()
        return (*halves, 32, 64) if "v" in self.extensions else (*halves, 32)


@dataclasses.dataclass(frozen=True)
class Foreign:
    """An instruction, and why it is one that the instruction set lacks.

    Attributes:
      function: symbol before it.
      address: where it runs.
      name: its mnemonic; "" if the disassembler does not know it.
      why: what it would need.
    """

    function: str
    address: int
    name: str
    why: str = ""


def check(image: Path, objdump: str, isa: Isa) -> None:
    """Reads all code of an ELF.

    Raises:
      UserError: the instruction set lacks an instruction in it; the message names the function, the mnemonic and
        the extension.
    """
    if not isa.march.startswith("rv"):
        return  # A library for a host chooses its code for the processor that it finds.
    text = _disassembled(image, objdump, _features(image, isa))
    # Behind what it does not know, the disassembler goes on with the next byte.
    found = [each for each in foreign(text, isa) if each.address % 2 == 0]
    illegal = [each for each in found if each.name or not _is_meant(image, each.address, isa)]
    if not illegal:
        return
    first = illegal[0]
    name, why = first.name, first.why
    if not name:
        name, why = _explained(image, objdump, first.address)
    functions = {each.function for each in illegal}
    more = f"; {len(functions) - 1} more functions have such" if len(functions) > 1 else ""
    raise UserError(
        f"'{first.function}' has {name} at {first.address:#x}, and {isa.name} does not have {why}{more}:"
        " compile that code for the image's instruction set, or build the image for one that has the instruction"
    )


def foreign(text: str, isa: Isa) -> Iterator[Foreign]:
    """Yields what the instruction set lacks in a disassembly that is restricted to it.

    Follows the width of elements along the code, and along jumps forwards. Where it may not be known, nothing is said.
    """
    if not isa.has_vectors and "<unknown>" not in text:
        return
    function, vtype = "", None
    pending: dict[int, tuple[int, float] | None] = {}
    for line in _LINE.finditer(text):
        if line["symbol"]:
            function = line["symbol"]
            continue
        address, name, operands = int(line["address"], 16), line["name"], line["operands"] or ""
        for place in sorted(place for place in pending if place <= address):
            vtype = vtype or pending[place]
            del pending[place]
        if function in _GUARDED:
            vtype = None
        elif name == "<unknown>":
            yield Foreign(function, address, "")
        elif name.startswith("vset"):
            set_to = _TYPE.search(operands)
            vtype = None
            if set_to:
                lmul = 1 / int(set_to[3]) if set_to[2] else float(set_to[3])
                vtype = (int(set_to[1]), lmul)
                if vtype[0] > isa.widest or lmul * isa.widest < vtype[0]:
                    yield Foreign(function, address, name, f"vectors of e{set_to[0][1:]}")
        elif name.startswith("v"):
            if vtype and (why := _lacks(name, vtype[0], isa)):
                yield Foreign(function, address, name, why)
        else:
            target = _TARGET.search(operands)
            place = int(target[1], 16) if target else 0
            is_call = name in ("jal", "jalr") and not operands.startswith("zero")
            if place > address and not is_call:
                pending.setdefault(place, vtype)
            if not name.removeprefix("c.").startswith("b"):
                vtype = None


def _lacks(name: str, width: int, isa: Isa) -> str:
    """What a vector instruction needs that the instruction set lacks; "" if nothing."""
    if name == "vfirst.m":
        return ""
    is_wide = bool(_WIDENS.match(name))
    if is_wide and 2 * width > isa.widest:
        return f"vectors of {2 * width}-bit elements"
    # The disassembler knows those of bf16 only if the instruction set has them, whatever it has for f16.
    if not re.match(r"vm?f", name) or "bf16" in name:
        return ""
    widths = [width, 2 * width] if is_wide else [width]
    if _TO_WIDE_FLOAT.match(name):
        widths = [2 * width]
    elif _TO_FLOAT.match(name):
        widths = [width]
    lacking = [each for each in widths if each not in isa.floats]
    return f"vectors of {lacking[0]}-bit floats" if lacking else ""


def _features(image: Path, isa: Isa) -> str:
    """The instruction set's features for LLVM, which would add those that the image's attributes name."""
    return _only((*isa.extensions, "zicsr", "zifencei"), image)


def _only(wanted: Sequence[str], image: Path) -> str:
    with image.open("rb") as file:
        named = {name for name in _arch(ELFFile(file)) if name not in wanted}
    # The later ones win, with all that they imply.
    return ",".join([f"-{name}" for name in sorted(named)] + [f"+{name}" for name in wanted])


def _arch(elf: ELFFile) -> list[str]:
    """The extensions in Tag_RISCV_arch, without versions."""
    section: Any = elf.get_section_by_name(".riscv.attributes")
    if section is None:
        return []
    try:
        arch = next(
            attribute.value
            for part in section.iter_subsections()
            for sub in part.iter_subsubsections()
            for attribute in sub.iter_attributes()
            if attribute.tag == "TAG_ARCH"
        )
    except (ELFError, StopIteration):
        return []
    names = _ARCH.sub("", arch).split("_")
    return [re.sub(r"\d+p\d+$", "", name) for name in names if name]


def _disassembled(image: Path, objdump: str, features: str, *options: str) -> str:
    command = [objdump, "-d", *_PRIVATE, f"--mattr={features}", *options, str(image)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _word(image: Path, address: int) -> int:
    """The instruction at an address."""
    with image.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            at = address - section["sh_addr"]
            if section["sh_flags"] & 4 and 0 <= at < section["sh_size"]:
                file.seek(section["sh_offset"] + at)
                return int.from_bytes(file.read(4), "little")
    return 0


def _is_meant(image: Path, address: int, isa: Isa) -> bool:
    """Whether what the disassembler does not know, or part of that, is right."""
    first, before = _word(image, address), _word(image, address - 2)
    return _NEVER in (first, before) or _is_unnamed(first, isa)


def _is_unnamed(word: int, isa: Isa) -> bool:
    return any(word & mask == value for name in isa.unnamed for mask, value in _UNNAMED[name])


def _explained(image: Path, objdump: str, address: int) -> tuple[str, str]:
    """The mnemonic of an instruction that the instruction set lacks, and its extension."""
    word = _word(image, address)
    for name in _UNNAMED:
        if name != "p" and _is_unnamed(word, Isa("", "", (name,))):
            return f"the instruction {word:#010x}", name

    def known(count: int) -> str:
        """The mnemonic, if the disassembler knows the first ones of the extensions."""
        part = (f"--start-address={address}", f"--stop-address={address + 4}")
        text = _disassembled(image, objdump, _only(_KNOWN[:count], image), *part)
        found = re.search(rf"^\s*{address:x}:\s+([^<\s]+)", text, re.MULTILINE)
        return found[1] if found else ""

    mnemonic = known(len(_KNOWN))
    if not mnemonic:
        return f"the instruction {word:#010x}", "it"
    count = bisect.bisect_left(range(len(_KNOWN)), True, key=lambda count: bool(known(count)))
    return mnemonic, _KNOWN[count - 1]
