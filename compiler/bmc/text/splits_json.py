"""The pre-tokenizers of a `tokenizer.json` as stages of splitting for the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bmc.text import byte_level, characters, patterns
from bmc.text.patterns import UNBOUNDED, Alternative, Item
from bmc.text.refusals import refused
from bmc.text.tokenizer import MARK, Normalizer, Prepend, Replace, Stage

Json = Any

# BM_SPLIT_STAGES in runtime_bm/text/tables.h.
_MAX_STAGES = 8
_WORDS = r"\w+|[^\w\s]+"


def splits(parts: Sequence[Json]) -> tuple[tuple[Normalizer, ...], tuple[Stage, ...]]:
    """Returns what is done to a segment before it is split, and the stages of the split."""
    before: tuple[Normalizer, ...] = ()
    stages: list[Stage] = []
    for part in parts:
        made, added = _split(part)
        if made and stages:
            raise refused(
                f"the pre-tokenizer {part['type']}, which adds a space, behind another one"
            )
        before += made
        stages += added
    if len(stages) > _MAX_STAGES:
        raise refused(f"more than {_MAX_STAGES} pre-tokenizers")
    return before, tuple(stages)


def _split(part: Json) -> tuple[tuple[Normalizer, ...], list[Stage]]:
    match part["type"]:
        case "ByteLevel":
            space = (Prepend(" ", unless=" "),) if part["add_prefix_space"] else ()
            uses = part.get("use_regex", True)
            return space, [Stage(patterns.parse(byte_level.PATTERN))] if uses else []
        case "Split":
            return (), [_pattern(part)]
        case "Digits":
            most = 1 if part["individual_digits"] else UNBOUNDED
            return (), [Stage((Alternative((Item(characters.numeric(), 1, most),)),))]
        case "Whitespace":
            return (), [Stage(patterns.parse(_WORDS), keep_gaps=False)]
        case "WhitespaceSplit":
            return (), [_each(characters.whitespace(), False)]
        case "Punctuation" if part.get("behavior", "Isolated") in ("Isolated", "Removed"):
            kept = part.get("behavior", "Isolated") == "Isolated"
            return (), [_each(characters.punctuation(), kept)]
        case "BertPreTokenizer":
            return (), [
                _each(characters.whitespace(), False),
                _each(characters.punctuation(), True),
            ]
        case "Metaspace":
            return _marks(part)
        case other:
            raise refused(f"the pre-tokenizer {other}")


def _each(some: characters.Characters, kept: bool) -> Stage:
    """Returns the stage that splits at each character of a set."""
    return Stage((Alternative((Item(some),)),), keep_matches=kept)


def _pattern(part: Json) -> Stage:
    pattern = part["pattern"]
    found = (
        patterns.parse(pattern["Regex"])
        if "Regex" in pattern
        else (patterns.literal(pattern["String"]),)
    )
    match part["behavior"]:
        case "Isolated":
            return Stage(found)
        case "Removed" if part["invert"]:
            return Stage(found, keep_gaps=False)
        case "Removed":
            return Stage(found, keep_matches=False)
        case other:
            raise refused(f"a Split whose behavior is {other}")


def _marks(part: Json) -> tuple[tuple[Normalizer, ...], list[Stage]]:
    mark = part["replacement"]
    if mark != MARK:
        raise refused(f"a Metaspace of {mark!r}")
    before: tuple[Normalizer, ...] = (Replace(" ", mark),)
    scheme = part.get("prepend_scheme", "always")
    if scheme != "never":
        before += (Prepend(mark, unless=mark, only_first=scheme == "first"),)
    if not part.get("split", True):
        return before, []
    # A mark begins a piece.
    others = characters.matching(f"[^{mark}]")
    one = characters.matching(mark)
    begun = Alternative((Item(one), Item(others, 0, UNBOUNDED)))
    return before, [Stage((begun, Alternative((Item(others, 1, UNBOUNDED),))))]
