"""Reads a `tokenizer.json`, the format of the package `tokenizers`. What is unknown is refused by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bmc.errors import BmcError
from bmc.json_shapes import misfit
from bmc.text import byte_level, models_json, normalizers_json, splits_json
from bmc.text.refusals import refused
from bmc.text.tokenizer import (
    Added,
    Bpe,
    Decoding,
    Normalizer,
    Tokenizer,
)

Json = Any

_SHAPE = {
    "model": {"type": str},
    "added_tokens": [
        {"id": int, "content": str, "normalized": bool, "special": bool}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), bool)
    ],
}
# No vocabulary has as many tokens; a number with more digits would make tables for all below it.
_MAX_TOKENS = 1 << 24


def read(path: Path) -> Tokenizer:
    """Returns the tokenizer of a file; raises BmcError if it is none or cannot be compiled."""
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BmcError("bad-tokenizer", f"{path.name} is no JSON: {error}") from error
    return of_json(description, path.name)


def of_json(description: Json, name: str) -> Tokenizer:
    """Returns the tokenizer of a parsed file; `name` is for messages. Raises BmcError."""
    if wrong := misfit(description, _SHAPE):
        raise BmcError(
            "bad-tokenizer", f"{name} is no tokenizer.json: {wrong} is missing or of another type"
        )
    try:
        return _tokenizer(description)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise BmcError(
            "bad-tokenizer",
            f"{name} is no tokenizer.json that `tokenizers` wrote: {type(error).__name__} {error}",
        ) from error
    except Exception as error:
        # What the package raises for a file that it cannot read.
        if type(error) is not Exception:
            raise
        raise BmcError("bad-tokenizer", f"`tokenizers` cannot read {name}: {error}") from error


def _tokenizer(description: Json) -> Tokenizer:
    parts = _parts(description.get("pre_tokenizer"), "pretokenizers")
    is_byte_level = any(part["type"] == "ByteLevel" for part in parts)
    vocabulary = models_json.vocabulary(description["model"])
    added = description["added_tokens"]
    ids = vocabulary | {token["content"]: token["id"] for token in added}
    count = max(ids.values(), default=-1) + 1
    if not 0 < count <= _MAX_TOKENS or min(ids.values()) < 0:
        raise refused(f"{count} tokens")
    to_bytes: Callable[[str], bytes] = byte_level.to_bytes if is_byte_level else str.encode
    texts = [b""] * count
    for text, number in ids.items():
        texts[number] = to_bytes(text)
    model, unknown = models_json.model(description["model"], vocabulary, is_byte_level)
    if isinstance(model, Bpe) and not model.of_bytes:
        for byte, token in enumerate(model.byte_tokens):
            texts[token] = bytes([byte])
    normalizers = normalizers_json.normalizers(_parts(description.get("normalizer"), "normalizers"))
    segment, stages = splits_json.splits(parts)
    prefix, suffix = _surroundings(description.get("post_processor"), ids)
    return Tokenizer(
        model=model,
        tokens=tuple(texts),
        searched=_searched(model, vocabulary),
        unknown=unknown,
        added=_added(added, False, ()),
        normalizers=normalizers,
        added_normalized=_added(added, True, normalizers),
        segment_normalizers=segment,
        stages=stages,
        prefix=prefix,
        suffix=suffix,
        decoding=_decoding(description.get("decoder")),
        specials=tuple(sorted({token["id"] for token in added if token["special"]})),
    )


def _searched(model: object, vocabulary: Mapping[str, int]) -> tuple[int, ...]:
    """Returns the ids of the tokens that texts are compared with."""
    if not isinstance(model, Bpe):
        return tuple(sorted(vocabulary.values()))
    if model.of_bytes:
        return tuple(sorted(vocabulary.values())) if model.whole else ()
    # Those of bytes would be found as the bytes that they stand for.
    return tuple(sorted(set(vocabulary.values()) - set(model.byte_tokens)))


def _parts(part: Json, key: str) -> list[Json]:
    """Returns a part, or those of a sequence."""
    if part is None:
        return []
    if part["type"] != "Sequence":
        return [part]
    return [inner for each in part[key] for inner in _parts(each, key)]


def _added(
    added: Sequence[Json], normalized: bool, normalizers: Sequence[Normalizer]
) -> tuple[Added, ...]:
    found = []
    for token in added:
        if token["normalized"] != normalized:
            continue
        if token["single_word"]:
            raise refused(f"the added token {token['content']!r} with single_word")
        if not token["content"]:
            raise refused("an added token without a text")
        text = normalizers_json.normalized(token["content"], normalizers)
        found.append(Added(text, token["id"], token["special"], token["lstrip"], token["rstrip"]))
    return tuple(found)


def _surroundings(
    processor: Json, ids: Mapping[str, int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the tokens before and behind a text."""
    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()
    for part in _parts(processor, "processors"):
        before: list[int] = []
        behind: list[int] = []
        match part["type"]:
            case "ByteLevel":
                continue
            case "BertProcessing" | "RobertaProcessing":
                before, behind = [part["cls"][1]], [part["sep"][1]]
            case "TemplateProcessing":
                place = before
                for item in part["single"]:
                    if "Sequence" in item:
                        place = behind
                    else:
                        place += part["special_tokens"][item["SpecialToken"]["id"]]["ids"]
            case other:
                raise refused(f"the post-processor {other}")
        prefix, suffix = (*before, *prefix), (*suffix, *behind)
    if not set(prefix + suffix) <= set(ids.values()):
        raise refused("a post-processor with tokens that there are not")
    return prefix, suffix


def _decoding(decoder: Json) -> Decoding:
    parts = _parts(decoder, "decoders")
    kinds = [part["type"] for part in parts]
    if kinds == ["ByteLevel"]:
        return Decoding.BYTES
    if kinds == ["Metaspace"]:
        scheme = parts[0].get("prepend_scheme", "always")
        return Decoding.MARKS if scheme == "never" else Decoding.MARKS_BUT_FIRST
    if re.fullmatch(r"Replace ByteFallback Fuse( Strip)?", " ".join(kinds)):
        strip = parts[3] if len(parts) == 4 else {"content": " ", "start": 0, "stop": 0}
        replaced = (parts[0]["pattern"], parts[0]["content"])
        if replaced == ({"String": "\u2581"}, " ") and strip["content"] == " ":
            ends = (strip["start"], strip["stop"])
            if ends in ((0, 0), (1, 0)):
                return Decoding.MARKS_BUT_ONE if ends[0] else Decoding.MARKS
    if kinds in ([], ["WordPiece"]):
        return Decoding.NONE
    raise refused(f"the decoder {' '.join(kinds)}")
