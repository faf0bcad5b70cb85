"""What an image takes on its board: flash by part, RAM by use, and the space left in every memory."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from bmc.report import Model
from tools.cli import UserError
from tools.report import link_map
from tools.report.report import Flash, Image, Memory, Ram

_RAM_SECTIONS = {
    ".bm.arena": "arena",
    ".bm.fast": "fast",
    ".bm.stack": "stack",
    ".bss": "bss",
    ".data": "data",
}


def build(map_lines: list[str], board: dict[str, Any], models: Sequence[Model]) -> Image:
    """Returns the report of a linked image.

    Args:
      map_lines: lld's link map.
      board: board.json.
      models: the compiler's reports of the models in the image.
    """
    pieces = link_map.parse(map_lines)
    flash = _zeros(Flash)
    ram = _zeros(Ram)
    text: dict[str, int] = defaultdict(int)
    for piece in pieces:
        if piece.in_image:
            flash[piece.part] += piece.bytes
        if piece.section == ".text":
            text[piece.part] += piece.bytes
        if piece.section in _RAM_SECTIONS:
            # A plan's only variable is its model's state.
            is_state = piece.section == ".bss" and piece.part == "plan"
            ram["state" if is_state else _RAM_SECTIONS[piece.section]] += piece.bytes
    return Image(
        board=board["name"],
        flash_bytes=Flash(**{**flash, "total": sum(flash.values())}),
        memory=tuple(_use(region, pieces) for region in board.get("memory", [])),
        models=tuple(models),
        ram_bytes=Ram(**{**ram, "total": sum(ram.values())}),
        text_bytes=dict(sorted(text.items())),
    )


def _zeros(kind: type) -> dict[str, int]:
    return {field.name: 0 for field in dataclasses.fields(kind)}


def _use(region: dict[str, Any], pieces: list[link_map.Piece]) -> Memory:
    origin, length = _number(region["origin"]), _number(region["length"])
    used = sum(p.bytes for p in pieces if 0 <= p.address - origin < length)
    return Memory(region["name"], length, used)


def check_room(board: dict[str, Any], models: Sequence[Model]) -> None:
    """Raises UserError if the models' own parts already exceed a memory of the board.

    Run before linking, because the linker can only name the last section. The first memory in
    board.json holds the image, and the last one holds data that is written; they may be the same.
    Another one that `holds` weights, the arena or fast tensors is their own. The models share an
    arena; each has its own state and fast memory.
    """
    image = {
        "weights": sum(model.flash.weights_bytes for model in models),
        "golden data": sum(model.flash.golden_bytes for model in models),
        "kernels": sum(model.flash.kernels_bytes for model in models),
    }
    written = {
        "arena": max(model.arena.bytes for model in models),
        "state": sum(model.state_bytes for model in models),
        "fast": sum(model.fast_bytes for model in models),
    }
    memories = board["memory"]
    contents: list[dict[str, int]] = [{} for _ in memories]
    for parts, place in ((image, 0), (written, -1)):
        for part, size in parts.items():
            own = [i for i, memory in enumerate(memories) if part in memory.get("holds", [])]
            contents[own[0] if own else place][part] = size
    for memory, parts in zip(memories, contents, strict=True):
        room, need = _number(memory["length"]), sum(parts.values())
        if need <= room:
            continue
        largest = ", ".join(
            f"{name} {size:,}" for name, size in sorted(parts.items(), key=lambda p: -p[1])[:3]
        )
        names = " with ".join(model.name for model in models)
        raise UserError(
            f"{names} does not fit into the {memory['name']} of {board['name']}: at least "
            f"{need:,} bytes needed, {room:,} available; largest parts in bytes: {largest}. Use a "
            "board with more memory, fewer or smaller models or fewer cases"
        )


def check_ram(image: Image, ram: int) -> None:
    """Raises UserError if an image takes more RAM than so many bytes: all that it declares, and its whole stack."""
    excess = image.ram_bytes.total - ram
    if excess <= 0:
        return
    parts = {name: size for name, size in vars(image.ram_bytes).items() if size and name != "total"}
    listed = ", ".join(f"{name} {parts[name]:,}" for name in sorted(parts, key=lambda n: -parts[n]))
    largest = max(image.models, key=lambda model: model.arena.bytes)
    left = largest.arena.bytes + largest.state_bytes - excess
    hint = (
        f"give the bm_model of {largest.name} ram = {left}"
        if left > 0
        else f"even without {largest.name} it takes more: use a board with a smaller stack, or less of your own data"
    )
    raise UserError(
        f"the image for {image.board} takes {image.ram_bytes.total:,} bytes of RAM, {excess:,} more than its ram ="
        f" {ram}: {listed}; {hint}"
    )


def _number(value: int | str) -> int:
    return value if isinstance(value, int) else int(value, 0)
