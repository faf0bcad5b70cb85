"""Writes the tokenizer of the model: a token for each character of ASCII, as a `tokenizer.json`."""

from __future__ import annotations

import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from bmc.text import byte_level


def tokenizer() -> Tokenizer:
    vocabulary = {byte_level.LETTERS[byte]: byte for byte in range(128)}
    made = Tokenizer(models.BPE(vocabulary, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    return made


if __name__ == "__main__":
    tokenizer().save(str(Path(sys.argv[1])))
