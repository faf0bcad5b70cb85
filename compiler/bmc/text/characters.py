"""Sets of characters and what normalizers make of each, as the package `tokenizers` sees them.

Its parts bring Unicode tables of different versions, so it is asked about every character instead of a table that
might be of yet another one.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, normalizers, pre_tokenizers

COUNT = 0x110000
# Ranges of which the first character stands for all: surrogates, which no text has, the planes that Unicode has left
# empty, and those for private use.
_ALIKE = (
    range(0xD800, 0xE000),
    range(0x40000, 0xE0000),
    range(0xE1000, 0xF0000),
    range(0xF0000, 0xFFFFE),
    range(0x100000, 0x10FFFE),
)
_SURROGATES = _ALIKE[0]
# No normalizer changes it, makes it of another one, or joins it with what is beside it.
_BETWEEN = "\u203d"


@dataclass(frozen=True)
class Characters:
    """A set: its runs of consecutive characters, as pairs of the first one and the one behind the last."""

    runs: tuple[tuple[int, int], ...]

    def mask(self) -> NDArray[np.bool_]:
        """Returns bool [COUNT]."""
        found = np.zeros(COUNT, bool)
        for first, end in self.runs:
            found[first:end] = True
        return found

    def meets(self, other: Characters) -> bool:
        """Returns whether a character is in both."""
        ours, theirs = (np.array(some.runs, int).reshape(-1, 2) for some in (self, other))
        # The first of their runs that ends behind the begin of each of ours.
        next_one = np.searchsorted(theirs[:, 1], ours[:, 0], side="right")
        begins = np.append(theirs[:, 0], COUNT)[next_one]
        return bool((begins < ours[:, 1]).any())


def of_mask(mask: NDArray[np.bool_]) -> Characters:
    """Returns the set of a bool [COUNT]."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return Characters(tuple((int(a), int(b)) for a, b in edges.reshape(-1, 2)))


@functools.cache
def _asked() -> NDArray[np.int64]:
    """Returns the characters that `tokenizers` is asked about, in order."""
    asked = np.ones(COUNT, bool)
    for alike in _ALIKE:
        asked[alike.start + 1 : alike.stop] = False
    asked[_SURROGATES.start] = False
    return np.flatnonzero(asked)


@functools.cache
def everything() -> str:
    """Returns the characters that `tokenizers` is asked about, as a text."""
    return "".join(map(chr, _asked()))


@functools.cache
def matching(pattern: str) -> Characters:
    """Returns the characters that a regular expression for one character matches."""
    split = pre_tokenizers.Split(Regex(f"(?:{pattern})+"), "removed", invert=True)
    return _of_pieces(span for _, span in split.pre_tokenize_str(everything()))


@functools.cache
def whitespace() -> Characters:
    """Returns what `WhitespaceSplit` splits at."""
    kept = _of_pieces(
        span for _, span in pre_tokenizers.WhitespaceSplit().pre_tokenize_str(everything())
    )
    return _others(kept)


@functools.cache
def punctuation() -> Characters:
    """Returns what `Punctuation` and `BertPreTokenizer` isolate."""
    kept = _of_pieces(
        span for _, span in pre_tokenizers.Punctuation("removed").pre_tokenize_str(everything())
    )
    return _others(kept)


@functools.cache
def numeric() -> Characters:
    """Returns what `Digits` isolates."""
    pieces = pre_tokenizers.Digits(individual_digits=False).pre_tokenize_str(everything())
    # They are by turns of others and of digits, and the first character is no digit.
    return _of_pieces(span for _, span in pieces[1::2])


def _of_pieces(spans: Iterable[tuple[int, int]]) -> Characters:
    """Returns the set of some spans of everything()."""
    found = np.zeros(len(_asked()), bool)
    for first, end in spans:
        found[first:end] = True
    mask = np.zeros(COUNT, bool)
    mask[_asked()] = found
    for alike in _ALIKE:
        mask[alike.start : alike.stop] = mask[alike.start]
    return of_mask(mask)


def _others(some: Characters) -> Characters:
    mask = ~some.mask()
    mask[_SURROGATES.start : _SURROGATES.stop] = False
    return of_mask(mask)


def mapping(normalizer: normalizers.Normalizer) -> dict[int, str]:
    """Returns what a normalizer that looks at one character at a time makes of those that it changes."""
    parts = normalizer.normalize_str(_BETWEEN.join(everything())).split(_BETWEEN)
    # The character in between is in the text as well, where it parts two empty strings.
    at = everything().index(_BETWEEN)
    parts[at : at + 2] = [_BETWEEN]
    changed = {
        ord(character): part
        for character, part in zip(everything(), parts, strict=True)
        if part != character
    }
    for alike in _ALIKE[1:]:
        if alike.start in changed:
            changed |= dict.fromkeys(alike, changed[alike.start])
    return changed


@functools.cache
def decompositions(compatible: bool) -> dict[int, str]:
    """Returns what NFD or NFKD makes of characters, without Hangul syllables, which are computed."""
    normalizer = normalizers.NFKD() if compatible else normalizers.NFD()
    found = mapping(normalizer)
    return {c: text for c, text in found.items() if not 0xAC00 <= c < 0xD7A4}


@functools.cache
def combining_classes() -> dict[int, int]:
    """Returns the canonical combining class of the characters that NFD puts in an order."""
    classes = {ord(c): unicodedata.combining(c) for c in everything()}
    # A mark of class 240, the last, is moved behind any other one that NFD knows.
    last, first = "\u0345", "\u0334"
    nfd = normalizers.NFD()
    return {
        c: number
        for c, number in classes.items()
        if number
        and (
            nfd.normalize_str(last + chr(c)) != last + chr(c)
            or nfd.normalize_str(chr(c) + first) != chr(c) + first
            or number == 1
        )
    }


@functools.cache
def compositions() -> dict[tuple[int, int], int]:
    """Returns the pairs that NFC makes one character of, without Hangul syllables."""
    nfc = normalizers.NFC()
    found = {}
    for c in map(ord, everything()):
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if nfc.normalize_str(chr(first) + chr(second)) == chr(c):
                found[first, second] = c
    return found
