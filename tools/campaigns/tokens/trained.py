"""Writes small tokenizers of the kinds that models have, for tests, always the same.

They are trained on the descriptions of data sets that come with scikit-learn, and on characters of all scripts.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import util
from pathlib import Path
from typing import Any

from strings import strings
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from tools import cli

_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)"
    r"|\s+"
)
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}").replace("]?\\p{L}", "]?+\\p{L}")
_LOWER, _UPPER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}", r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_ENDINGS}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CHAT = [AddedToken(text, special=True) for text in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")]
_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def corpus() -> Iterator[str]:
    """Yields texts in English, with numbers and tables, and some in other scripts."""
    # The package is not imported, which would take longer than everything else.
    found = util.find_spec("sklearn")
    assert found is not None and found.submodule_search_locations is not None
    folder = Path(found.submodule_search_locations[0], "datasets", "descr")
    for file in sorted(folder.glob("*.rst")):
        yield from file.read_text(encoding="utf-8").splitlines(keepends=True)
    yield from itertools.islice(strings(("the", "of"), (), 0), 400)


def _byte_level(split: Any, **kwargs: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(**kwargs))
    tokenizer.pre_tokenizer = split
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=_CHAT,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def _pattern(pattern: str) -> Any:
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return pre_tokenizers.Sequence([split, _BYTES])


def gpt2() -> Tokenizer:
    tokenizer = _byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.add_tokens([AddedToken("<mask>", lstrip=True, special=True), AddedToken("New York")])
    tokenizer.post_processor = processors.RobertaProcessing(("<|im_end|>", 2), ("<|im_start|>", 1))
    return tokenizer


def smollm() -> Tokenizer:
    digits = pre_tokenizers.Digits(individual_digits=True)
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return _byte_level(pre_tokenizers.Sequence([digits, words]))


def llama3() -> Tokenizer:
    tokenizer = _byte_level(_pattern(_LLAMA3), ignore_merges=True)
    begin = processors.TemplateProcessing("<|im_start|> $A", None, [("<|im_start|>", 1)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(), begin])
    return tokenizer


def qwen2() -> Tokenizer:
    tokenizer = _byte_level(_pattern(_QWEN2))
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def o200k() -> Tokenizer:
    tokenizer = _byte_level(_pattern(_O200K))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()])
    return tokenizer


def _frequent(words: Iterable[str], longest: int, count: int) -> list[tuple[str, int]]:
    """Returns the most frequent parts of words, with their counts.

    The package's own trainers of these models give another vocabulary each time.
    """
    found = Counter(
        word[at : at + size]
        for word in words
        for size in range(1, longest + 1)
        for at in range(len(word) - size + 1)
    )
    return sorted(found.items(), key=lambda part: (-part[1], part[0]))[:count]


def wordpiece() -> Tokenizer:
    normalizer = normalizers.BertNormalizer()
    splitter = pre_tokenizers.BertPreTokenizer()
    words = [
        word
        for line in corpus()
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(line))
    ]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    begins = [part for part, _ in _frequent((word[:5] for word in words), 5, 1200)]
    insides = [f"##{part}" for part, _ in _frequent((word[1:] for word in words), 3, 800)]
    vocabulary = {text: number for number, text in enumerate([*special, *begins, *insides])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def wordpiece_cased() -> Tokenizer:
    tokenizer = wordpiece()
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    return tokenizer


def llama2() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    )
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(
        vocab_size=2000, special_tokens=special, show_progress=False, max_token_length=16
    )
    # Pieces for the training only.
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(corpus(), trainer)
    description = json.loads(tokenizer.to_str())
    description["pre_tokenizer"] = None
    # Those of bytes are tokens of the model alone.
    description["added_tokens"] = description["added_tokens"][:3]
    tokenizer = Tokenizer.from_str(json.dumps(description))
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("\u2581", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", None, [("<s>", 1)])
    return tokenizer


def unigram() -> Tokenizer:
    normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKD(), normalizers.Lowercase()]
    )
    splitter = pre_tokenizers.Metaspace(prepend_scheme="first")
    words = [
        word
        for line in corpus()
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(line))
    ]
    parts = _frequent(words, 6, 1500)
    total = sum(count for _, count in parts)
    scores = [(part, math.log(count / total)) for part, count in parts]
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("</s>", 0.0), *scores], 0))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    tokenizer.add_special_tokens(["<unk>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", None, [("</s>", 1)])
    return tokenizer


KINDS: dict[str, Callable[[], Tokenizer]] = {
    made.__name__: made
    for made in (gpt2, smollm, llama3, qwen2, o200k, wordpiece, wordpiece_cased, llama2, unigram)
}


@cli.program("trained", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("out", type=Path, help="the tokenizer.json to write")
    parser.add_argument("--swap", action="store_true", help="let two merges trade places")
    options = parser.parse_args(args)
    description = json.loads(KINDS[options.kind]().to_str())
    if options.swap:
        merges = description["model"]["merges"]
        # Two of letters, of which one begins with what the other ends with.
        pairs = [(i, merge) for i, merge in enumerate(merges) if "".join(merge).isascii()]
        one, other = next(
            (i, j)
            for (i, first), (j, second) in itertools.combinations(pairs, 2)
            if len(first[0] + first[1] + second[1]) == 3 and first[1] == second[0] != first[0]
        )
        merges[one], merges[other] = merges[other], merges[one]
    options.out.write_text(json.dumps(description, ensure_ascii=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
