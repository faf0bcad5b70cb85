"""The tokenizer and the chat template in a GGUF file's metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmc import gguf_file, limits
from bmc.errors import BmcError
from bmc.text import byte_level
from bmc.text.refusals import refused
from bmc.text.tokenizer import MARK

Json = Any

_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)"
    r"|\s+"
)
# What tokenizer.ggml.pre names -> patterns that split a text, one behind the other.
_PATTERNS: dict[str, tuple[str, ...]] = {
    "default": (byte_level.PATTERN,),
    "gpt-2": (byte_level.PATTERN,),
    "llama-bpe": (_LLAMA3,),
    "llama3": (_LLAMA3,),
    "qwen2": (_LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}"),),
    "smollm": (r"\p{N}", byte_level.PATTERN),
}
# Kinds of tokens (tokenizer.ggml.token_type).
_CONTROL, _USER_DEFINED = 3, 4


@dataclass(frozen=True)
class Metadata:
    """What the file says about texts.

    Attributes:
      tokenizer: a `tokenizer.json`.
      chat_template: in Jinja; "" if there is none.
      special_tokens: `bos_token` and others, as texts.
    """

    tokenizer: Json
    chat_template: str
    special_tokens: Mapping[str, str]


def read(path: Path) -> Metadata:
    """Returns what a file says about texts; raises BmcError if it is damaged or cannot be compiled."""
    fields = gguf_file.read(path, limits.DEFAULT).metadata
    prefix = "tokenizer.ggml."
    about = {name.removeprefix(prefix): v for name, v in fields.items() if name.startswith(prefix)}
    tokens: Any = about.get("tokens")
    if not isinstance(tokens, tuple) or not all(isinstance(token, str) for token in tokens):
        raise BmcError("bad-gguf", f"{path.name} has no tokens: its metadata lacks {prefix}tokens")
    try:
        description = _tokenizer(about, tokens)
        special = _special_tokens(about, tokens)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise BmcError(
            "bad-gguf",
            f"{path.name} has metadata that do not fit: {type(error).__name__} {error}",
        ) from error
    template = fields.get("tokenizer.chat_template", "")
    return Metadata(description, template if isinstance(template, str) else "", special)


def _special_tokens(about: Mapping[str, Any], tokens: Sequence[str]) -> dict[str, str]:
    kinds = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}
    return {
        name: tokens[int(about[f"{kind}_token_id"])]
        for kind, name in kinds.items()
        if f"{kind}_token_id" in about
    }


def _tokenizer(about: Mapping[str, Any], tokens: Sequence[str]) -> Json:
    match about.get("model"):
        case "gpt2":
            return _byte_level(about, tokens)
        case "llama":
            return _scored(about, tokens)
        case other:
            raise refused(f"the GGUF model {other}")


def _added(about: Mapping[str, Any], tokens: Sequence[str]) -> list[Json]:
    kinds = about.get("token_type") or [1] * len(tokens)
    return [
        {
            "id": number,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": kind == _CONTROL,
        }
        for number, (text, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind in (_CONTROL, _USER_DEFINED)
    ]


def _surroundings(about: Mapping[str, Any], bos: bool) -> Json:
    """Returns the post-processor: what a text begins and ends with."""
    begins = bool(about.get("add_bos_token", bos))
    ends = bool(about.get("add_eos_token", False))
    items: list[Json] = [{"Sequence": {"id": "A", "type_id": 0}}]
    ids = {}
    if begins:
        items.insert(0, {"SpecialToken": {"id": "bos", "type_id": 0}})
        ids["bos"] = int(about["bos_token_id"])
    if ends:
        items.append({"SpecialToken": {"id": "eos", "type_id": 0}})
        ids["eos"] = int(about["eos_token_id"])
    special = {
        name: {"id": name, "ids": [number], "tokens": [name]} for name, number in ids.items()
    }
    return {"type": "TemplateProcessing", "single": items, "pair": [], "special_tokens": special}


def _byte_level(about: Mapping[str, Any], tokens: Sequence[str]) -> Json:
    pre = about.get("pre", "default")
    if pre not in _PATTERNS:
        raise refused(f"the pre-tokenizer {pre} of GGUF")
    splits: list[Json] = [
        {
            "type": "Split",
            "pattern": {"Regex": pattern},
            "behavior": "Isolated",
            "invert": False,
        }
        for pattern in _PATTERNS[pre]
    ]
    letters = {
        "type": "ByteLevel",
        "add_prefix_space": bool(about.get("add_space_prefix", False)),
        "trim_offsets": True,
        "use_regex": False,
    }
    if letters["add_prefix_space"]:
        raise refused("a space before the text of a byte-level GGUF file")
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added(about, tokens),
        "normalizer": {"type": "NFC"} if pre == "qwen2" else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits, letters]},
        "post_processor": _surroundings(about, False),
        "decoder": {**letters},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": pre in ("llama-bpe", "llama3"),
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in about["merges"]],
        },
    }


def _scored(about: Mapping[str, Any], tokens: Sequence[str]) -> Json:
    """A model of SentencePiece with scores: the merge that makes the token of the highest score comes first."""
    vocabulary = {token: number for number, token in enumerate(tokens)}
    scores = about["scores"]
    merges = []
    for token, number in vocabulary.items():
        halves = [
            (token[:at], token[at:])
            for at in range(1, len(token))
            if token[:at] in vocabulary and token[at:] in vocabulary
        ]
        halves.sort(key=lambda pair: (vocabulary[pair[0]], vocabulary[pair[1]]))
        merges += [(*pair, scores[number]) for pair in halves]
    merges.sort(key=lambda merge: merge[2], reverse=True)
    prefix = [{"type": "Prepend", "prepend": MARK}] if about.get("add_space_prefix", True) else []
    unknown = tokens[int(about.get("unknown_token_id", 0))]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added(about, tokens),
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                *prefix,
                {"type": "Replace", "pattern": {"String": " "}, "content": MARK},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": _surroundings(about, True),
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": MARK}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": len(prefix), "stop": 0},
            ],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": unknown,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": vocabulary,
            "merges": [[left, right] for left, right, _ in merges],
        },
    }
