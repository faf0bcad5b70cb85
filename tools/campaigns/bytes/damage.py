"""Damages good bytes: flips bits, cuts, repeats and overwrites, a few places at a time."""

from __future__ import annotations

import random
from dataclasses import dataclass

# Numbers that formats keep in their headers, one byte beyond a limit or wrapping around it.
WORDS = tuple(
    value.to_bytes(size, "little")
    for size in (1, 2, 4, 8)
    for value in (0, 1, 2 ** (8 * size - 1) - 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1)
)


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces `length` bytes at a place by `data`; the place is `at` of 2^32 parts of the whole."""

    at: int
    length: int
    data: bytes


def apply(good: bytes, edits: list[Edit]) -> bytes:
    """Returns `good` with the edits made one after the other."""
    damaged = good
    for edit in edits:
        start = edit.at * (len(damaged) + 1) >> 32
        damaged = damaged[:start] + edit.data + damaged[start + edit.length :]
    return damaged


def choose(good: bytes, dice: random.Random) -> list[Edit]:
    """Returns one to four edits of one kind each: a bit, a word, a cut, a piece twice, the end lost."""
    return [_edit(good, dice) for _ in range(dice.choice((1, 1, 1, 2, 4)))]


def _edit(good: bytes, dice: random.Random) -> Edit:
    at = dice.randrange(1 << 32)
    start = at * (len(good) + 1) >> 32
    kind = dice.choice(("bit", "bit", "word", "word", "noise", "cut", "twice", "end"))
    if kind == "bit":
        byte = good[start : start + 1] or b"\0"
        return Edit(at, 1, bytes((byte[0] ^ 1 << dice.randrange(8),)))
    if kind == "word":
        word = dice.choice(WORDS)
        return Edit(at, len(word), word)
    if kind == "noise":
        noise = dice.randbytes(dice.randint(1, 16))
        return Edit(at, len(noise), noise)
    if kind == "cut":
        return Edit(at, dice.randint(1, 64), b"")
    if kind == "twice":
        return Edit(at, 0, good[start : start + dice.randint(1, 256)])
    return Edit(at, len(good), b"")
