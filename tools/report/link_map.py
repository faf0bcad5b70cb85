"""Reads lld's link map: the size of every part of an image."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

# VMA LMA Size Align, then the name at a column that tells output section, input section or symbol.
_LINE = re.compile(r"^ *([0-9a-f]+) +([0-9a-f]+) +([0-9a-f]+) +(\d+) (.*)$")
_INPUT = re.compile(r"^ {8}(\S.*):\((.+)\)$")

# Origin of an input section -> the part of the image it counts toward; the first match wins.
_PARTS = (
    (re.compile(r"\(\.bm\.kernels"), "kernels"),
    (re.compile(r"\(\.bm\.weights"), "weights"),
    (re.compile(r"/golden(\.|_)|\(\.bm\.golden"), "golden"),
    (re.compile(r"/plan\."), "plan"),
    # Only the console uses the number formatting in base.
    (re.compile(r"runtime_bm/(app|crt)/|runtime_bm/base/.*/text\."), "application"),
    (re.compile(r"runtime_bm/"), "runtime"),
    (re.compile(r"boards/"), "board"),
    # Whatever else the build compiled, in any folder and any workspace.
    (re.compile(r"\bbin/(?!.*third_party/)"), "application"),
)

# Output sections that take memory at run time but no space in the image (runtime_bm/crt/link).
_NOBITS = frozenset({".bm.arena", ".bm.fast", ".bss", ".bm.stack", ".tbss"})


@dataclasses.dataclass(frozen=True, slots=True)
class Piece:
    """An input section: `part` is the part it counts toward, `bytes` its size."""

    section: str
    part: str
    address: int
    bytes: int
    in_image: bool


def part_of(origin: str) -> str:
    """Names the part of the image that `path/file.o:(section)` belongs to."""
    for pattern, part in _PARTS:
        if pattern.search(origin):
            return part
    return "other"


def parse(lines: Iterable[str]) -> list[Piece]:
    """Returns the pieces of every output section that has an address."""
    pieces: list[Piece] = []
    section, address, left = "", 0, 0
    for line in lines:
        match = _LINE.match(line)
        if not match:
            continue
        vma, size, name = int(match[1], 16), int(match[3], 16), match[5]
        if not name.startswith(" "):
            _close(pieces, section, address, left)
            section, address, left = name, vma, size
            continue
        origin = _INPUT.match(name)
        if origin and address and size:
            left -= size
            pieces.append(
                Piece(section, part_of(f"{origin[1]}({origin[2]}"), vma, size, _in_image(section))
            )
    _close(pieces, section, address, left)
    return pieces


def _in_image(section: str) -> bool:
    return section not in _NOBITS


def _close(pieces: list[Piece], section: str, address: int, left: int) -> None:
    # Space that no input section accounts for: alignment, the stack, and what the script reserves.
    if address and left > 0:
        pieces.append(Piece(section, "padding", address, left, _in_image(section)))
