"""Reads what a board's memories cost, and how much fast memory a model may use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bmc import json_shapes
from bmc.errors import BmcError
from bmc.plan.fast import Memories

_MEMORY = {"name": str, "length": str, "word_cycles": int, "holds": ([str], type(...))}
_SHAPE = {"name": str, "memory": [_MEMORY]}


def read(path: Path, fast_ram: int | None) -> Memories:
    """Returns the memories of a board.json that says what they cost.

    Args:
      path: the file. Weights are in the first memory, and the arena and fast tensors in the last one, but for a memory
        that `holds` them.
      fast_ram: bytes of fast memory that the model may use, None for all of the memory that holds nothing else.

    Raises:
      BmcError: the file does not say it, or there is less fast memory.
    """
    if fast_ram is not None and fast_ram < 1:
        raise BmcError("bad-ram", f"{fast_ram} bytes of fast RAM are none: give 1 or more")
    try:
        board = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BmcError("bad-memories", f"'{path}' cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise BmcError("bad-memories", f"'{path}' is not JSON") from None
    if not isinstance(board, dict):
        raise BmcError("bad-memories", f"'{path}' is not a JSON object")
    if wrong := json_shapes.misfit(board, _SHAPE) or ("" if board["memory"] else "memory"):
        raise BmcError(
            "bad-memories",
            f"'{path}' lacks {wrong}",
            hint="a board says what its memories cost by `word_cycles` of bm_board",
        )
    for memory in board["memory"]:
        if memory["word_cycles"] < 1:
            raise BmcError(
                "bad-memories", f"'{path}': a word takes 1 cycle or more, also in {memory['name']}"
            )
    fast, own = _holding(board, "fast", -1)
    room = _length(path, fast) if own else None
    if fast_ram is None and room is None:
        raise BmcError(
            "bad-memories",
            f"{board['name']} has no memory for fast tensors alone",
            hint="give fast_ram, the bytes of its RAM that the model may use so",
        )
    if fast_ram is not None and room is not None and fast_ram > room:
        raise BmcError(
            "bad-ram", f"{board['name']} has {room:,} bytes of fast memory, and not {fast_ram:,}"
        )
    return Memories(
        fast_bytes=fast_ram or room or 0,
        fast=fast["word_cycles"],
        arena=_holding(board, "arena", -1)[0]["word_cycles"],
        weights=_holding(board, "weights", 0)[0]["word_cycles"],
    )


def _holding(board: dict[str, Any], part: str, place: int) -> tuple[dict[str, Any], bool]:
    """Returns the memory in which a part is, and whether it is for that alone."""
    own = [memory for memory in board["memory"] if part in memory.get("holds", [])]
    return (own[0], True) if own else (board["memory"][place], False)


def _length(path: Path, memory: dict[str, Any]) -> int:
    try:
        length = int(memory["length"], 0)
    except ValueError:
        length = 0
    if length < 1:
        raise BmcError(
            "bad-memories", f"'{path}': {memory['length']!r} is no length of {memory['name']}"
        )
    return length
