"""A language model as transformers generates with it, for golden data."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from bmc import spec


class Generator:
    """A prompts.Model with a cache that grows."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._cache: Any = None

    def reset(self) -> None:
        self._cache = None

    def call(self, tokens: spec.Array) -> spec.Case:
        """Takes further tokens, i64 [n]; returns the likeliest next one, i64 [1], and logits f32 [1, vocabulary]."""
        with torch.no_grad():
            result = self._model(
                torch.from_numpy(tokens)[None],
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            )
        self._cache = result.past_key_values
        logits = result.logits[0].numpy()
        return np.argmax(logits, 1), logits
