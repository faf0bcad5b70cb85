"""Regular expressions of pre-tokenizers -> alternatives of repeated sets of characters, which need no engine.

    `\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s+(?!\\S)|\\s+`

Whatever cannot be said so is refused by its text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmc.errors import BmcError
from bmc.text import characters
from bmc.text.characters import Characters
from bmc.text.refusals import refused

# Repetitions without an upper bound.
UNBOUNDED = 0xFFFF
# The most items of an alternative (BM_SPLIT_ITEMS in runtime_bm/text/tables.h).
MAX_ITEMS = 6
# The alternatives of a pattern, with those that groups stand for.
_MAX_ALTERNATIVES = 64

_CLASS = re.compile(
    r"\[\^?(?:\\[pP]\{\^?\w+\}|\\.|[^\]\\\[&])+\]|\\[pP]\{\^?\w+\}|\\[sSdDwWrntfv]", re.S
)
_ESCAPED = re.compile(r"\\([^\w\s])|([^\\\[\](){}?*+|.^$])", re.S)
_QUANTIFIER = re.compile(r"\?|\*|\+|\{(\d+)(,?)(\d*)\}")
_NOT_BEFORE = re.compile(r"\(\?!(\\[sS])\)")


@dataclass(frozen=True)
class Item:
    """From `least` to `most` characters of a set, as many as possible."""

    characters: Characters
    least: int = 1
    most: int = 1
    # Whether it gives no character back.
    possessive: bool = False


@dataclass(frozen=True)
class Alternative:
    """Items one behind the other, and a set of which no character may follow."""

    items: tuple[Item, ...]
    not_before: Characters = Characters(())


def parse(pattern: str) -> tuple[Alternative, ...]:
    """Returns the alternatives of a pattern, in order; raises BmcError if it is not made of them."""
    parser = _Parser(pattern)
    found = parser.alternatives(ignore_case=False)
    if parser.at != len(pattern):
        raise parser.refused("an unpaired bracket")
    if len(found) > _MAX_ALTERNATIVES:
        raise parser.refused(f"more than {_MAX_ALTERNATIVES} alternatives")
    for alternative in found:
        parser.check(alternative)
    return tuple(found)


def literal(text: str) -> Alternative:
    """Returns the alternative that is a text itself."""
    if not 0 < len(text) <= MAX_ITEMS:
        raise refused(f"a split at {text!r}, which has not 1 to {MAX_ITEMS} characters")
    return Alternative(tuple(Item(Characters(((ord(c), ord(c) + 1),))) for c in text))


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0

    def refused(self, what: str) -> BmcError:
        return BmcError(
            "unsupported-pattern",
            f"the pre-tokenizer's pattern {self._pattern!r} has {what} near character {self.at}, which"
            " cannot be compiled for the target",
            hint="alternatives of repeated sets of characters can, as in GPT-2's and Llama 3's patterns",
        )

    def alternatives(self, ignore_case: bool) -> list[Alternative]:
        """Reads up to a closing bracket or the end."""
        found: list[Alternative] = []
        while True:
            found += self._sequence(ignore_case)
            if not self._take("|"):
                return found

    def _sequence(self, ignore_case: bool) -> list[Alternative]:
        """Reads what is between two bars. A group stands for as many alternatives as it has."""
        found = [Alternative(())]
        while self.at < len(self._pattern) and self._pattern[self.at] not in "|)":
            if any(alternative.not_before.runs for alternative in found):
                raise self.refused("something behind (?!...)")
            if match := _NOT_BEFORE.match(self._pattern, self.at):
                self.at = match.end()
                ahead = characters.matching(match[1])
                found = [replace(alternative, not_before=ahead) for alternative in found]
            elif self._take("(?i:"):
                found = self._joined(found, self._group(True))
            elif self._take("(?:") or self._take_plain_group():
                found = self._joined(found, self._group(ignore_case))
            else:
                item = self._item(ignore_case)
                found = [replace(a, items=(*a.items, item)) for a in found]
        return found

    def _group(self, ignore_case: bool) -> list[Alternative]:
        inner = self.alternatives(ignore_case)
        if not self._take(")"):
            raise self.refused("an unpaired bracket")
        if any(alternative.not_before.runs for alternative in inner):
            raise self.refused("(?!...) in a group")
        if self._take("?"):
            return [*inner, Alternative(())]
        if _QUANTIFIER.match(self._pattern, self.at):
            raise self.refused("a repeated group")
        return inner

    def _joined(
        self, before: Sequence[Alternative], inner: Sequence[Alternative]
    ) -> list[Alternative]:
        """Returns all that a group may stand for behind what is before it.

        An engine would first try the whole group behind fewer characters of the item before. So those may not be what
        the group begins with.
        """
        for left, right in itertools.product(before, inner):
            if left.items and right.items and len(inner) > 1:
                last = left.items[-1]
                if last.least != last.most and last.characters.meets(right.items[0].characters):
                    raise self.refused("a group behind what may be its own first character")
        return [Alternative(a.items + b.items) for a, b in itertools.product(before, inner)]

    def _item(self, ignore_case: bool) -> Item:
        start = self.at
        match = _CLASS.match(self._pattern, self.at)
        if match is None:
            match = _ESCAPED.match(self._pattern, self.at)
        if match is None:
            raise self.refused(f"{self._pattern[self.at]!r}")
        self.at = match.end()
        text = self._pattern[start : self.at]
        literal = text.removeprefix("\\") if match.re is _ESCAPED else ""
        if literal and not (ignore_case and literal.isalpha()):
            return self._repeated(Item(Characters(((ord(literal), ord(literal) + 1),))))
        return self._repeated(Item(characters.matching(f"(?i:{text})" if ignore_case else text)))

    def _repeated(self, item: Item) -> Item:
        match = _QUANTIFIER.match(self._pattern, self.at)
        if match is None:
            return item
        self.at = match.end()
        low, comma, high = match[1], match[2], match[3]
        if low is None:
            least, most = {"?": (0, 1), "*": (0, UNBOUNDED), "+": (1, UNBOUNDED)}[match[0]]
        else:
            least = int(low)
            most = int(high) if high else UNBOUNDED if comma else least
        if self._take("?") or most == 0 or least > most or least >= UNBOUNDED:
            raise self.refused(f"the repetition {match[0]!r}")
        possessive = low is None and self._take("+")
        return Item(item.characters, least, min(most, UNBOUNDED), possessive)

    def check(self, alternative: Alternative) -> None:
        items = alternative.items
        if sum(item.least for item in items) == 0:
            raise self.refused("an alternative that matches nothing")
        if len(items) > MAX_ITEMS:
            raise self.refused(f"an alternative of more than {MAX_ITEMS} parts")
        for item, following in itertools.pairwise(items):
            if item.possessive and item.characters.meets(following.characters):
                raise self.refused("a possessive repetition of what may follow it")
        if items[-1].possessive and alternative.not_before.runs:
            raise self.refused("a possessive repetition before (?!...)")

    def _take(self, text: str) -> bool:
        if not self._pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _take_plain_group(self) -> bool:
        if self._pattern.startswith("(?", self.at):
            raise self.refused("a group of this kind")
        return self._take("(")
