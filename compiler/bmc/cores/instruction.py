"""Reads an instruction's text: what it computes, and which vector registers it reads and writes."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

_WORDS = re.compile(r"[ ,()]+")
_VECTOR = re.compile(r"v(\d+)")
_MEMORY = re.compile(r"v(l|s)(u|o)?(s|x)?(?:seg(\d))?(?:e|ei)(\d+)$")
# Kinds of arithmetic by the beginning of a mnemonic, the first one that matches.
_KINDS = (
    ("multiply", ("vfmacc", "vfmadd", "vfmul", "vfnms", "vmacc", "vmul", "vsmul", "vmadd")),
    ("widening", ("vwmacc", "vwmul", "vfwmacc", "vfwmul", "vwadd", "vwsub")),
    ("reduce", ("vred", "vfred", "vwred")),
    ("divide", ("vfdiv", "vfrdiv", "vfsqrt", "vdiv", "vrem")),
    ("compare", ("vms", "vmf")),
    ("merge", ("vmerge", "vfmerge", "vadc")),
    ("slide", ("vslide", "vfslide")),
    ("gather", ("vrgather",)),
    ("extend", ("vsext", "vzext", "vfwcvt")),
    ("narrow", ("vn", "vfncvt")),
)
# Instructions that read what they write.
_ACCUMULATES = ("vfmacc", "vmacc", "vwmacc", "vfwmacc", "vfmadd", "vmadd", "vfnms")
# A mask, and the first lane, are one register, whatever LMUL is.
_ONE_REGISTER = 0.0


@dataclass(frozen=True)
class Group:
    """A vector operand.

    Attributes:
      first: number of its first register.
      scale: its registers, as a multiple of LMUL; 0 for a mask or a single element, which are one register.
    """

    first: int
    scale: float


@dataclass(frozen=True)
class Instruction:
    """What a core needs to know of an instruction.

    Attributes:
      kind: "scalar", "vsetvli", "load", "store", "strided", "segments", "indexed", or one of _KINDS, else "alu".
      words: mnemonic and operands.
      to: the group that is written.
      read: the groups that are read.
      widest: bits of the widest element, as a multiple of SEW; for memory 0.
      bits: bits of an element in memory; otherwise 0.
      fields: fields of a segment.
      vectors: whether both factors of a multiplication are vectors.
    """

    kind: str
    words: tuple[str, ...]
    to: Group | None = None
    read: tuple[Group, ...] = ()
    widest: float = 1.0
    bits: int = 0
    fields: int = 1
    vectors: bool = False


@functools.lru_cache(65536)
def parsed(line: str) -> Instruction:
    """Returns what a line says."""
    words = tuple(word for word in _WORDS.split(line.strip()) if word)
    name = words[0]
    if name.startswith("vset"):
        return Instruction("vsetvli", words)
    if not name.startswith("v"):
        return Instruction("scalar", words)
    # Instructions for bf16 take as long as those for f16, whose names are the same without the type.
    stem = name.partition(".")[0].removesuffix("bf16")
    if stem in ("vlm", "vsm"):
        mask = Group(int(words[1][1:]), _ONE_REGISTER)
        if stem == "vlm":
            return Instruction("load", words, mask, bits=1)
        return Instruction("store", words, read=(mask,), bits=1)
    memory = _MEMORY.match(stem)
    if memory:
        return _memory(words, memory)
    return _arithmetic(words, stem)


def _registers(words: tuple[str, ...]) -> list[int]:
    """Returns the numbers of the vector registers among the operands, without a mask in the last place."""
    return [int(match.group(1)) for word in words if (match := _VECTOR.fullmatch(word))]


def _memory(words: tuple[str, ...], match: re.Match[str]) -> Instruction:
    load, indexed, strided, fields, bits = match.groups()
    if indexed:
        kind = "indexed"
    elif fields:
        kind = "segments"
    elif strided:
        kind = "strided"
    else:
        kind = "load" if load == "l" else "store"
    numbers = _registers(words[1:])
    count = int(fields or 1)
    # Registers of memory operands depend on the width of their elements: pipeline.py computes them.
    data = Group(numbers[0], float(count))
    others = tuple(Group(number, 1.0) for number in numbers[1:])
    to = data if load == "l" else None
    read = others if load == "l" else (data, *others)
    return Instruction(kind, words, to, read, 0.0, int(bits), count)


def _arithmetic(words: tuple[str, ...], stem: str) -> Instruction:
    kind = next((kind for kind, stems in _KINDS if stem.startswith(stems)), "alu")
    numbers = _registers(words[1:])
    writes = bool(_VECTOR.fullmatch(words[1]))
    to_scale = read_scale = widest = 1.0
    if kind == "widening" or stem == "vfwcvt":
        to_scale = widest = 2.0
    if kind == "narrow":
        read_scale = widest = 2.0
    if kind == "extend" and stem != "vfwcvt":
        read_scale = 1 / int(words[0][-1])
    if kind in ("compare", "reduce"):
        to_scale = _ONE_REGISTER
    sources = numbers[1:] if writes else numbers
    read = tuple(Group(number, read_scale) for number in sources)
    if kind == "merge":
        read = (*read[:-1], Group(read[-1].first, _ONE_REGISTER))
    to = Group(numbers[0], to_scale) if writes else None
    if to and stem in _ACCUMULATES:
        read = (*read, to)
    vectors = kind in ("multiply", "widening") and words[0].endswith(".vv")
    return Instruction(kind, words, to, read, widest, vectors=vectors)
