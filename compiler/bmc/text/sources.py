"""Files that tokenizers and chat templates come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmc.errors import BmcError
from bmc.text import chat_template, gguf_metadata, tokenizer_json
from bmc.text.chat_template import ChatTemplate
from bmc.text.tokenizer import Tokenizer

_GGUF = ".gguf"


def tokenizer(path: Path) -> Tokenizer:
    """Returns the tokenizer of a `tokenizer.json` or a GGUF file; raises BmcError."""
    if path.suffix != _GGUF:
        return tokenizer_json.read(path)
    return tokenizer_json.of_json(gguf_metadata.read(path).tokenizer, path.name)


def template(path: Path) -> tuple[ChatTemplate, str]:
    """Returns the chat template of a `tokenizer_config.json` or a GGUF file, and the token that ends an answer.

    The latter is "" if the file names none. Raises BmcError.
    """
    source: object
    tokens: Mapping[str, str]
    if path.suffix == _GGUF:
        metadata = gguf_metadata.read(path)
        source, tokens = metadata.chat_template, metadata.special_tokens
    else:
        config = _config(path)
        source, tokens = config.get("chat_template"), chat_template.special_tokens(config)
    if not isinstance(source, str) or not source:
        raise BmcError(
            "no-chat-template",
            f"{path.name} has no chat_template",
            hint="leave `template` out for a model that goes on with a text",
        )
    return chat_template.compiled(source, tokens), tokens.get("eos_token", "")


def _config(path: Path) -> Mapping[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BmcError("bad-tokenizer", f"{path.name} is no JSON: {error}") from error
    if not isinstance(config, dict):
        raise BmcError("bad-tokenizer", f"{path.name} is no tokenizer_config.json")
    return config
