"""The entry points of language models from .gguf files: several tokens at a time, or one."""

from __future__ import annotations

import torch

from bmc.frontends.gguf_weights import Weights


class Entries(torch.nn.Module):  # type: ignore[misc]
    """Says which token is likely to follow those that it has been given since its state was reset.

    It remembers a fixed number of tokens. One more takes the place of the last, which gives no sensible answer, so
    whoever calls it counts tokens. A subclass computes hidden().
    """

    def __init__(self, vocabulary: int, width: int, weights: Weights, context: int) -> None:
        super().__init__()
        self._last = context - 1
        self.tokens, head = weights.embedding(
            "token_embd", vocabulary, width, not weights.has("output.weight")
        )
        self.head = head or weights.linear("output", vocabulary, width)
        self.register_buffer("length", torch.zeros(1, dtype=torch.int64))

    def prefill(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Takes several tokens, i64 [n]; returns the same as decode()."""
        return self._continue(tokens)

    def decode(self, token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Maps i64 [1] to the likeliest next token i64 [1] and logits f32 [1, vocabulary]."""
        return self._continue(token)

    def hidden(self, tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Maps tokens i64 [n] at `places` i64 [n] to what the head reads of the last, f32 [1, width]."""
        raise NotImplementedError

    def _continue(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        places = (self.length + torch.arange(tokens.shape[0])).clamp(max=self._last)
        x = self.hidden(tokens, places)
        self.length.add_(tokens.shape[0])
        logits = self.head(x)
        return logits.argmax(1), logits
