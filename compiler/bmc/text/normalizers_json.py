"""The normalizers of a `tokenizer.json` as steps for the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokenizers import normalizers as reference

from bmc.text import characters
from bmc.text.refusals import refused
from bmc.text.tokenizer import Compose, Map, Normalizer, Order, Prepend, Replace, Strip

Json = Any


def normalizers(parts: Sequence[Json]) -> tuple[Normalizer, ...]:
    """Returns the steps of some normalizers, one behind the other."""
    return tuple(step for part in parts for step in _steps(part))


def _steps(part: Json) -> tuple[Normalizer, ...]:
    match part["type"]:
        case "NFC" | "NFD" | "NFKC" | "NFKD":
            decomposed = Map(characters.decompositions("K" in part["type"]), hangul=True)
            composed = (Compose(),) if part["type"].endswith("C") else ()
            return (decomposed, Order(), *composed)
        case "Lowercase" | "StripAccents" | "Nmt":
            return (Map(characters.mapping(getattr(reference, part["type"])())),)
        case "BertNormalizer":
            return _bert(part)
        case "Replace" if "String" in part["pattern"]:
            if not part["pattern"]["String"]:
                raise refused("a replacement of nothing")
            return (Replace(part["pattern"]["String"], part["content"]),)
        case "Prepend":
            return (Prepend(part["prepend"]),) if part["prepend"] else ()
        case "Strip":
            return (Strip(part["strip_left"], part["strip_right"]),)
        case other:
            raise refused(f"the normalizer {other}")


def _bert(part: Json) -> tuple[Normalizer, ...]:
    strips = part["lowercase"] if part["strip_accents"] is None else part["strip_accents"]

    def made_of(strip: bool, lowercase: bool) -> dict[int, str]:
        return characters.mapping(
            reference.BertNormalizer(
                clean_text=part["clean_text"] and not strip,
                handle_chinese_chars=part["handle_chinese_chars"] and not strip,
                strip_accents=strip,
                lowercase=lowercase,
            )
        )

    cleaned = made_of(False, part["lowercase"] and not strips)
    if not strips:
        return (Map(cleaned),)
    apart = characters.decompositions(False)
    # Of what is cleaned, only spaces are added around characters that may come apart.
    first = {c: "".join(apart.get(ord(d), d) for d in text) for c, text in cleaned.items()}
    return (
        Map({c: text for c, text in apart.items() if c not in first} | first, hangul=True),
        Order(),
        Map(_of_parts(made_of(True, part["lowercase"]), apart)),
    )


def _of_parts(changes: dict[int, str], apart: dict[int, str]) -> dict[int, str]:
    """Returns the changes of characters that do not come apart, as others are not there any more."""
    return {c: text for c, text in changes.items() if c not in apart and not 0xAC00 <= c < 0xD7A4}


def normalized(text: str, steps: Sequence[Normalizer]) -> str:
    """Returns what steps make of the text of an added token, which most leave as it is."""
    for step in steps:
        match step:
            case Map():
                text = "".join(step.changes.get(ord(c), c) for c in text)
            case Replace():
                text = text.replace(step.text, step.by)
            case Prepend():
                text = step.text + text
            case Strip():
                text = text.lstrip() if step.left else text
                text = text.rstrip() if step.right else text
            case Order() | Compose():
                if not text.isascii():
                    raise refused(f"the added token {text!r}, which is normalized")
    if not text:
        raise refused("an added token of which normalizers leave nothing")
    return text
