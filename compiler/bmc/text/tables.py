"""A tokenizer -> its files for the target: NAME.c, NAME.h, NAME.S and NAME.bin."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bmc.emit import c_text
from bmc.text import characters
from bmc.text.blob import Blob
from bmc.text.characters import Characters
from bmc.text.refusals import refused
from bmc.text.tokenizer import (
    Added,
    Bpe,
    Compose,
    Decoding,
    Map,
    Normalizer,
    Order,
    Prepend,
    Replace,
    Stage,
    Strip,
    Tokenizer,
    Unigram,
    WordPiece,
)

# BM_NONE.
_NONE = "BM_NONE"
# Classes are bits of a word on the target, sets here.
_MAX_CLASSES = 32
_MAX_SETS = 64

_DECODING = {
    Decoding.BYTES: "0",
    Decoding.MARKS: "BM_TOKENIZER_MARKS",
    Decoding.MARKS_BUT_ONE: "BM_TOKENIZER_MARKS | BM_TOKENIZER_DROP_MARK",
    Decoding.MARKS_BUT_FIRST: "BM_TOKENIZER_MARKS | BM_TOKENIZER_DROP_MARKS",
    Decoding.NONE: "BM_TOKENIZER_NO_DECODER",
}


def write(tokenizer: Tokenizer, name: str, place: str, out: Path) -> None:
    """Writes the files of a tokenizer; raises BmcError if its tables are not possible.

    Args:
      tokenizer: what is written.
      name: its C name.
      place: the folder in which a compiler finds the files, ending with "/", or "".
      out: the folder to write them to.
    """
    c_text.check_name(name)
    blob = Blob(f"{name}_data")
    source = _source(tokenizer, name, place, blob)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.c").write_text(source)
    (out / f"{name}.bin").write_bytes(blob.data())
    # Builds that know of an included file by its name alone assemble again when the digest changes.
    digest = hashlib.sha256(blob.data()).hexdigest()
    assembly = c_text.include_blob(f".rodata.{name}", f"{name}_data", f"{place}{name}.bin")
    (out / f"{name}.S").write_text(f"/* {digest} */\n{assembly}")
    (out / f"{name}.h").write_text(_header(tokenizer, name))


def _header(tokenizer: Tokenizer, name: str) -> str:
    longest = max(map(len, tokenizer.tokens))
    return (
        f"// {c_text.BANNER}\n"
        f"#ifndef {name.upper()}_H_\n#define {name.upper()}_H_\n\n"
        '#include "runtime_bm/text/tables.h"\n\n'
        f"extern const bm_tokenizer_tables_t {name};\n\n"
        f"enum {{\n  {name.upper()}_TOKENS = {len(tokenizer.tokens)},\n"
        f"  // Bytes of the longest token.\n  {name.upper()}_LONGEST = {longest},\n}};\n\n"
        f"#endif  // {name.upper()}_H_\n"
    )


def _source(tokenizer: Tokenizer, name: str, place: str, blob: Blob) -> str:
    arrays = [
        f'// {c_text.BANNER}\n#include "{place}{name}.h"\n\n',
        f"extern const uint8_t {name}_data[];\n\n",
    ]
    whitespace = characters.whitespace() if _needs_whitespace(tokenizer) else Characters(())
    fields = {
        "kind": _kind(tokenizer),
        "flags": " | ".join(_flags(tokenizer)),
        "unknown": _NONE if tokenizer.unknown is None else f"{tokenizer.unknown}u",
        "longest": f"{max(map(len, tokenizer.tokens))}u",
        "tokens": blob.sorted_strings(tokenizer.tokens, tokenizer.searched),
        "specials": blob.numbers(tokenizer.specials),
        **_model(tokenizer, blob),
        "added": _added(tokenizer.added, blob),
        "normalizers": _normalizers(tokenizer.normalizers, "k_normalizers", blob, arrays),
        "added_normalized": _added(tokenizer.added_normalized, blob),
        "segment_normalizers": _normalizers(
            tokenizer.segment_normalizers, "k_segment_normalizers", blob, arrays
        ),
        "whitespace": blob.code_points(whitespace.mask().astype(np.int64)),
        "split": _split(tokenizer.stages, blob, arrays),
        "prefix": blob.numbers(tokenizer.prefix),
        "suffix": blob.numbers(tokenizer.suffix),
    }
    lines = "".join(f"    .{field} = {value},\n" for field, value in fields.items())
    return "".join(arrays) + f"const bm_tokenizer_tables_t {name} = {{\n{lines}}};\n"


def _needs_whitespace(tokenizer: Tokenizer) -> bool:
    return any(
        token.left or token.right for token in (*tokenizer.added, *tokenizer.added_normalized)
    )


def _kind(tokenizer: Tokenizer) -> str:
    kinds = {Bpe: "BPE", WordPiece: "WORDPIECE", Unigram: "UNIGRAM"}
    return f"BM_TOKENIZER_{kinds[type(tokenizer.model)]}"


def _flags(tokenizer: Tokenizer) -> list[str]:
    found = [_DECODING[tokenizer.decoding]]
    match tokenizer.model:
        case Bpe(of_bytes=of_bytes, whole=whole, fuse_unknown=fuse):
            flags = {"BYTES": of_bytes, "WHOLE": whole, "FUSE": fuse}
            found += [f"BM_TOKENIZER_{flag}" for flag, is_set in flags.items() if is_set]
        case Unigram():
            found.append("BM_TOKENIZER_FUSE")
    return found


def _model(tokenizer: Tokenizer, blob: Blob) -> dict[str, str]:
    match tokenizer.model:
        case Bpe() as model:
            return _merges(model, len(tokenizer.tokens), blob)
        case WordPiece(continuing, longest):
            return {
                "continuing": blob.strings((continuing.encode(),)),
                "longest_word": f"{longest}u",
            }
        case Unigram(scores, unknown_score):
            address = blob.place(np.array(scores, np.float64).tobytes())
            return {
                "scores": f"(const double *)({address})",
                "unknown_score": repr(unknown_score),
            }


def _merges(model: Bpe, tokens: int, blob: Blob) -> dict[str, str]:
    # Of a pair that was learned twice, the package keeps the later merge.
    ranks = {(left, right): rank for rank, (left, right, _) in enumerate(model.merges)}
    pairs = sorted(ranks)
    counts = np.bincount([left for left, _ in pairs], minlength=tokens)
    return {
        "byte_tokens": blob.numbers(tokens if id < 0 else id for id in model.byte_tokens),
        "merge_ends": blob.numbers(np.cumsum(counts)),
        "merge_rights": blob.numbers(right for _, right in pairs),
        "merge_ranks": blob.numbers(ranks[pair] for pair in pairs),
        "merge_results": blob.numbers(result for _, _, result in model.merges),
    }


def _added(added: Sequence[Added], blob: Blob) -> str:
    strings = [token.text.encode() for token in added]
    flags = [token.special | token.left << 1 | token.right << 2 for token in added]
    found = blob.sorted_strings(strings, range(len(strings)))
    ids = blob.numbers(token.id for token in added)
    return f"{{{found}, {ids}, {blob.numbers(flags)}}}"


def _normalizers(steps: Sequence[Normalizer], array: str, blob: Blob, arrays: list[str]) -> str:
    """Adds the array of some steps to `arrays`; returns the initializer of a bm_normalizers_t."""
    if not steps:
        return "{0, 0}"
    arrays.append(
        c_text.array(f"static const bm_normalizer_t {array}", [_step(s, blob) for s in steps])
    )
    return f"{{{array}, {len(steps)}}}"


def _step(step: Normalizer, blob: Blob) -> str:
    fields: Mapping[str, str]
    match step:
        case Map(changes, hangul):
            templates = {c: _template(chr(c), text) for c, text in changes.items()}
            texts = sorted(set(templates.values()))
            number = {text: i + 1 for i, text in enumerate(texts)}
            fields = {
                "kind": "BM_NORMALIZER_MAP",
                "flags": "BM_NORMALIZER_HANGUL" if hangul else "0",
                "code_points": blob.code_points({c: number[text] for c, text in templates.items()}),
                "texts": blob.strings([text.encode() for text in texts]),
            }
        case Order():
            fields = {
                "kind": "BM_NORMALIZER_ORDER",
                "code_points": blob.code_points(characters.combining_classes()),
            }
        case Compose():
            pairs = sorted((*pair, c) for pair, c in characters.compositions().items())
            fields = {
                "kind": "BM_NORMALIZER_COMPOSE",
                "code_points": blob.code_points(characters.combining_classes()),
                "pairs": blob.numbers(number for pair in pairs for number in pair),
            }
        case Replace(text, by):
            fields = {
                "kind": "BM_NORMALIZER_REPLACE",
                "texts": blob.strings((text.encode(), by.encode())),
            }
        case Prepend(text, unless, only_first):
            fields = {
                "kind": "BM_NORMALIZER_PREPEND",
                "flags": "BM_NORMALIZER_FIRST" if only_first else "0",
                "texts": blob.strings((text.encode(), unless.encode())),
            }
        case Strip(left, right):
            flags = {"BM_NORMALIZER_LEFT": left, "BM_NORMALIZER_RIGHT": right}
            fields = {
                "kind": "BM_NORMALIZER_STRIP",
                "flags": " | ".join(flag for flag, is_set in flags.items() if is_set) or "0",
                "code_points": blob.code_points(characters.whitespace().mask().astype(np.int64)),
            }
    return "{" + ", ".join(f".{field} = {value}" for field, value in fields.items()) + "}"


def _template(character: str, text: str) -> str:
    """Returns a text with U+0000 for the character that it is made of, as most of those that get spaces around them."""
    if "\0" in text:
        raise refused("a normalizer that makes U+0000 of something")
    return text.replace(character, "\0") if character != " " else text


def _split(stages: Sequence[Stage], blob: Blob, arrays: list[str]) -> str:
    """Adds the arrays of all stages to `arrays`; returns the initializer of a bm_split_t."""
    classes, bits = _classes(stages)
    items: list[str] = []
    alternatives: list[str] = []
    rows: list[str] = []
    for stage in stages:
        rows.append(
            f"{{{len(alternatives)}, {len(stage.alternatives)}, "
            f"{stage.keep_matches | stage.keep_gaps << 1}u}}"
        )
        for alternative in stage.alternatives:
            alternatives.append(
                f"{{{len(items)}, {len(alternative.items)}, {bits[alternative.not_before]}u}}"
            )
            items += [
                f"{{{bits[item.characters]}u, {item.least}, {item.most}}}"
                for item in alternative.items
            ]
    if not stages:
        return f"{{{blob.code_points(classes)}, 0, 0, 0, 0, 0, 0}}"
    arrays += [
        c_text.array("static const bm_split_item_t k_items", items),
        c_text.array("static const bm_split_alternative_t k_alternatives", alternatives),
        c_text.array("static const bm_split_stage_t k_stages", rows),
    ]
    counts = f"{len(items)}, {len(alternatives)}, {len(stages)}"
    return f"{{{blob.code_points(classes)}, k_items, k_alternatives, k_stages, {counts}}}"


def _classes(stages: Sequence[Stage]) -> tuple[NDArray[np.int64], dict[Characters, int]]:
    """Divides all characters into classes, so that each set is some of them.

    Returns:
      the class of each character, and the bits of the classes in each set.
    """
    alternatives = [a for stage in stages for a in stage.alternatives]
    sets = {a.not_before for a in alternatives}
    sets |= {item.characters for a in alternatives for item in a.items}
    ordered = sorted(sets, key=lambda some: some.runs)
    if not ordered:
        return np.zeros(characters.COUNT, np.int64), {}
    # What each character is in, a bit for each set.
    sets_of = np.zeros(characters.COUNT, np.uint64)
    for number, some in enumerate(ordered[:_MAX_SETS]):
        sets_of |= some.mask().astype(np.uint64) << np.uint64(number)
    members, classes = np.unique(sets_of, return_inverse=True)
    count = len(members)
    if count > _MAX_CLASSES or len(ordered) > _MAX_SETS:
        raise refused(
            f"patterns that tell {count} kinds of characters apart, more than {_MAX_CLASSES}"
        )
    bits = {
        some: sum(1 << c for c, member in enumerate(members) if int(member) >> number & 1)
        for number, some in enumerate(ordered)
    }
    return classes.reshape(-1).astype(np.int64), bits
