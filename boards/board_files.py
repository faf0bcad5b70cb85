"""Writes a board's files of its facts: memory.ldh for the linker, and board.json for tools.

A BUILD file has the facts (tools/rules/private/bm_board.bzl), or the csr.json of a system that LiteX has made
(boards/gates/describe.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools import cli

_LINKER = """\
/* Made of the board's facts (bm_board): change those and not this file. */
MEMORY {{
{regions}}}
REGION_ALIAS("BM_ROM", {rom})
REGION_ALIAS("BM_RAM", {ram})

{defines}"""
_REGION = "  {name} ({access}) : ORIGIN = {origin:#x}, LENGTH = {length:#x}\n"
# What a region holds -> the define that says so (runtime_bm/crt/link/sections.ld.S), and how it is used.
_HOLDS = {
    "weights": ("BM_WEIGHTS_REGION", "r"),
    "arena": ("BM_ARENA_REGION", "rw"),
    "fast": ("BM_FAST_REGION", "rw"),
}
# Ways to flash that load an image to its first address, and the one that needs the size of the chip.
_LOADED = ("litex-serial", "uboot-serial", "uboot-tftp")
_CHIP = "pflash"


@dataclass(frozen=True, kw_only=True)
class Region:
    """Memory, in bytes.

    `holds` is "weights", "arena" or "fast" if it is for nothing else. `word_cycles` is what a word of four bytes takes,
    0 if nobody has said it.
    """

    name: str
    origin: int
    length: int
    holds: str = ""
    word_cycles: int = 0


@dataclass(frozen=True, kw_only=True)
class Board:
    """The facts of a board.

    Attributes:
      name: of the board.
      title: what it is, in a few words.
      isa: of its kernels.
      console: what it is and where; empty if the board's own C knows.
      memory: regions; code is in the first, and what is written in the last. They may be one.
      stack_bytes: stack of a hart.
      stack_guard_bytes: guard below it.
      tested: "run", or "built" if nobody has seen it run.
      mode: "machine" or "supervisor".
      defines: more of memory.ldh, by name (runtime_bm/crt/link/sections.ld.S).
      flash: ways to flash it and their settings, the default first.
      reset: memory of the first instruction, if that is elsewhere than in the first region.
    """

    name: str
    title: str
    isa: str
    memory: Sequence[Region]
    stack_bytes: int
    stack_guard_bytes: int
    console: str = ""
    tested: str = "built"
    mode: str = "machine"
    defines: Mapping[str, str] = field(default_factory=dict)
    flash: Sequence[tuple[str, Mapping[str, Any]]] = ()
    reset: Region | None = None


def memory_ldh(board: Board) -> str:
    """Returns the board's part of the linker script."""
    rom, ram = board.memory[0], board.memory[-1]
    access = {region.name: _HOLDS[region.holds][1] for region in board.memory if region.holds}
    access |= {rom.name: "rx", ram.name: "rw"} if rom != ram else {ram.name: "rwx"}
    defines: dict[str, object] = {
        "BM_STACK_BYTES": board.stack_bytes,
        "BM_STACK_GUARD_BYTES": board.stack_guard_bytes,
        **board.defines,
        **{_HOLDS[region.holds][0]: region.name for region in board.memory if region.holds},
    }
    regions = list(board.memory)
    if board.reset:
        defines["BM_RESET_REGION"] = board.reset.name
        access[board.reset.name] = "rx"
        regions.insert(0, board.reset)
    return _LINKER.format(
        regions="".join(
            _REGION.format(
                name=region.name,
                access=access[region.name],
                origin=region.origin,
                length=region.length,
            )
            for region in regions
        ),
        rom=rom.name,
        ram=ram.name,
        defines="".join(f"#define {name} {value}\n" for name, value in defines.items()),
    )


def board_json(board: Board) -> str:
    """Returns the facts that tools read."""
    facts: dict[str, object] = {
        "name": board.name,
        "title": board.title,
        "tested": board.tested,
        "isa": board.isa,
        "mode": board.mode,
    }
    if board.console:
        facts["console"] = board.console
    if board.flash:
        methods = {method: _settings(board, method, given) for method, given in board.flash}
        facts["flash"] = {"default": board.flash[0][0], "methods": methods}
    facts["memory"] = [
        {"name": region.name, "origin": hex(region.origin), "length": hex(region.length)}
        | ({"holds": [region.holds]} if region.holds else {})
        | ({"word_cycles": region.word_cycles} if region.word_cycles else {})
        for region in board.memory
    ]
    return json.dumps(facts, indent=2) + "\n"


def _settings(board: Board, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings of a way to flash, with those that follow from the memory."""
    image = board.memory[0]
    follows = {"load": hex(image.origin)} if method in _LOADED else {}
    follows |= {"size": hex(image.length)} if method == _CHIP else {}
    return {**follows, **given}


@cli.program("board_files", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--facts", type=Path, required=True, help="JSON: the attributes of Board")
    parser.add_argument("--memory", type=Path, help="memory.ldh")
    parser.add_argument("--board", type=Path, help="board.json")
    options = parser.parse_args(args)
    facts = json.loads(options.facts.read_text(encoding="utf-8"))
    board = Board(memory=tuple(Region(**region) for region in facts.pop("memory")), **facts)
    if options.memory:
        options.memory.write_text(memory_ldh(board), encoding="utf-8")
    if options.board:
        options.board.write_text(board_json(board), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
