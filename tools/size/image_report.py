"""What an image takes on its board: flash by part, RAM by use, room left in every memory."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tools.size import link_map

# The parts of an image, in the order reports list them.
PARTS = (
    "weights",
    "golden",
    "kernels",
    "plan",
    "runtime",
    "application",
    "board",
    "other",
    "padding",
)
_RAM_SECTIONS = {".bm.arena": "arena", ".bm.stack": "stack", ".bss": "bss", ".data": "data"}


class SizeError(Exception):
    """One sentence for the user."""


def build(map_lines: list[str], board: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    """Returns the report of a linked image.

    Args:
      map_lines: lld's link map.
      board: board.json.
      model: report.json of the compiler.
    """
    pieces = link_map.parse(map_lines)
    flash: dict[str, int] = defaultdict(int)
    ram: dict[str, int] = defaultdict(int)
    text: dict[str, int] = defaultdict(int)
    for piece in pieces:
        if piece.in_image:
            flash[piece.part] += piece.bytes
        if piece.section == ".text":
            text[piece.part] += piece.bytes
        if piece.section in _RAM_SECTIONS:
            ram[_RAM_SECTIONS[piece.section]] += piece.bytes
    return {
        "board": board["name"],
        "flash_bytes": {**{part: flash[part] for part in PARTS}, "total": sum(flash.values())},
        "memory": [_use(region, pieces) for region in board.get("memory", [])],
        "model": model,
        "ram_bytes": {
            **{use: ram[use] for use in _RAM_SECTIONS.values()},
            "total": sum(ram.values()),
        },
        "text_bytes": {part: size for part, size in sorted(text.items())},
    }


def _use(region: dict[str, Any], pieces: list[link_map.Piece]) -> dict[str, Any]:
    origin, length = _number(region["origin"]), _number(region["length"])
    used = sum(p.bytes for p in pieces if 0 <= p.address - origin < length)
    return {"length": length, "name": region["name"], "used": used}


def check_room(board: dict[str, Any], model: dict[str, Any]) -> None:
    """Raises SizeError when the model's own parts already exceed a memory of the board.

    Run before linking, because the linker can only name the section that came last. The first
    memory of board.json holds the image, the last one what is written; they may be the same.
    """
    image = {
        "weights": model["flash"]["weights_bytes"],
        "golden data": model["flash"]["golden_bytes"],
        "kernels": model["flash"]["kernels_bytes"],
    }
    written = {"arena": model["arena"]["bytes"]}
    memories = board["memory"]
    contents = [(memories[0], image | written)]
    if len(memories) > 1:
        contents = [(memories[0], image), (memories[-1], written)]
    for memory, parts in contents:
        room, need = _number(memory["length"]), sum(parts.values())
        if need <= room:
            continue
        largest = ", ".join(
            f"{name} {size:,}" for name, size in sorted(parts.items(), key=lambda p: -p[1])[:3]
        )
        raise SizeError(
            f"{model['name']} does not fit into the {memory['name']} of {board['name']}: at least "
            f"{need:,} bytes needed, {room:,} available; largest parts in bytes: {largest}. Use a "
            "board with more memory, a smaller model or fewer cases"
        )


def _number(value: int | str) -> int:
    return value if isinstance(value, int) else int(value, 0)
