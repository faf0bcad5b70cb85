"""A tokenizer as the package `tokenizers` computes it, and texts for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from strings import strings
from tokenizers import Tokenizer

from bmc.text import byte_level


class Reference:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._tokenizer = Tokenizer.from_file(str(path))
        # These are for batches.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, text: str, *, surrounded: bool, plain: bool) -> list[int]:
        """Returns the tokens of a text; `plain`: special tokens in it are text as any other."""
        self._tokenizer.encode_special_tokens = plain
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=surrounded).ids
        return ids

    def decode(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True)
        return text

    @property
    def size(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def texts(self, seed: int) -> Iterator[str]:
        """Yields texts without end."""
        description = json.loads(self._path.read_text(encoding="utf-8"))
        words = sorted(self._tokenizer.get_vocab(with_added_tokens=False))
        if "ByteLevel" in json.dumps(description["pre_tokenizer"]):
            words = [byte_level.to_bytes(word).decode("utf-8", "replace") for word in words]
        specials = [token["content"] for token in description["added_tokens"]]
        return strings(words, specials, seed)
