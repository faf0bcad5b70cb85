"""A tokenizer as the package `tokenizers` computes it, and texts for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from strings import strings
from tokenizers import Tokenizer

from bmc.text import byte_level, gguf_metadata


class Reference:
    def __init__(self, path: Path) -> None:
        """Takes a tokenizer.json or a GGUF file."""
        if path.suffix == ".gguf":
            self._description = gguf_metadata.read(path).tokenizer
        else:
            self._description = json.loads(path.read_text(encoding="utf-8"))
        self._tokenizer = Tokenizer.from_str(json.dumps(self._description))
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
    def decodes(self) -> bool:
        """Whether texts of tokens are joined by rules that the target has: those for words are English ones."""
        return bool(self._description["decoder"]["type"] != "WordPiece")

    def texts(self, seed: int) -> Iterator[str]:
        """Yields texts without end."""
        words = sorted(self._tokenizer.get_vocab(with_added_tokens=False))
        if "ByteLevel" in json.dumps(self._description["pre_tokenizer"]):
            words = [byte_level.to_bytes(word).decode("utf-8", "replace") for word in words]
        specials = [token["content"] for token in self._description["added_tokens"]]
        return strings(words, specials, seed)
