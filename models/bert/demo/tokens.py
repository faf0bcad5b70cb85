"""Makes the encoder's inputs of the sentences that the page sends."""

from __future__ import annotations

import functools
from typing import Any

from tokenizers import Tokenizer

from models.bert import package

# The shape of the model's inputs (model.py).
SENTENCES = 4
TOKENS = 32


@functools.cache
def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(package.folder() / "tokenizer.json"))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding(length=TOKENS)
    return tokenizer


def prepare(sent: Any) -> dict[str, list[list[int]]]:
    """Returns ids and mask, 4 x 32 integers each, of up to four `sentences`; raises ValueError."""
    sentences = sent.get("sentences") if isinstance(sent, dict) else None
    if (
        not isinstance(sentences, list)
        or not 0 < len(sentences) <= SENTENCES
        or not all(isinstance(sentence, str) for sentence in sentences)
    ):
        raise ValueError(f"`sentences` is a list of one to {SENTENCES} strings")
    rows = _tokenizer().encode_batch(sentences + [""] * (SENTENCES - len(sentences)))
    return {
        "input_ids": [row.ids for row in rows],
        "attention_mask": [row.attention_mask for row in rows],
    }
