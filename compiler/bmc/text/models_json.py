"""The model of a `tokenizer.json`: its vocabulary, and how a piece becomes tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tokenizers import Tokenizer

from bmc.text import byte_level
from bmc.text.refusals import refused
from bmc.text.tokenizer import Bpe, Unigram, WordPiece

Json = Any

_PARTS = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
# What unknown characters cost more than the least likely token.
_UNKNOWN_PENALTY = 10.0


def vocabulary(model: Json) -> dict[str, int]:
    """Returns the id of each token of the model."""
    if model["type"] == "Unigram":
        found: dict[str, int] = {}
        for number, (text, _) in enumerate(model["vocab"]):
            found[text] = number
        return found
    return {str(text): int(number) for text, number in model["vocab"].items()}


def model(
    description: Json, ids: Mapping[str, int], is_byte_level: bool
) -> tuple[Bpe | WordPiece | Unigram, int | None]:
    """Returns the model, and the token for what is unknown."""
    match description["type"]:
        case "BPE":
            unknown = description.get("unk_token")
            return _bpe(description, ids, is_byte_level), None if unknown is None else ids[unknown]
        case "WordPiece":
            unknown_id = ids[description["unk_token"]]
            prefix = description["continuing_subword_prefix"]
            return WordPiece(prefix, description["max_input_chars_per_word"]), unknown_id
        case "Unigram":
            return _unigram(description), _number(description["unk_id"])
        case other:
            raise refused(f"the type {other}")


def _number(value: Json) -> int:
    if value is None:
        raise refused("no token for what is unknown")
    return int(value)


def _unigram(description: Json) -> Unigram:
    if description.get("byte_fallback"):
        raise refused("byte_fallback beside the scores of Unigram")
    # The package rounds some numbers in the last place, and ties between ways to divide a word depend on it.
    whole = dict.fromkeys(_PARTS) | {"version": "1.0", "added_tokens": [], "model": description}
    read = json.loads(Tokenizer.from_str(json.dumps(whole)).to_str())["model"]
    scores = tuple(float(score) for _, score in read["vocab"])
    return Unigram(scores, min(scores) - _UNKNOWN_PENALTY)


def _bpe(description: Json, ids: Mapping[str, int], is_byte_level: bool) -> Bpe:
    for key in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if description.get(key):
            raise refused(key)
    merges = []
    for pair in description["merges"]:
        left, right = pair.split(" ") if isinstance(pair, str) else pair
        merges.append((ids[left], ids[right], ids[left + right]))
    return Bpe(
        merges=tuple(merges),
        byte_tokens=_byte_tokens(description, ids, is_byte_level),
        of_bytes=is_byte_level,
        whole=bool(description.get("ignore_merges")),
        fuse_unknown=bool(description.get("fuse_unk")),
    )


def _byte_tokens(description: Json, ids: Mapping[str, int], is_byte_level: bool) -> tuple[int, ...]:
    fallback = bool(description.get("byte_fallback"))
    if is_byte_level:
        if fallback:
            raise refused("byte_fallback beside a byte-level alphabet")
        return tuple(ids.get(byte_level.LETTERS[byte], -1) for byte in range(256))
    if not fallback:
        return ()
    found = tuple(ids.get(f"<0x{byte:02X}>", -1) for byte in range(256))
    if -1 in found:
        raise refused(f"byte_fallback, and no token <0x{found.index(-1):02X}>")
    return found
