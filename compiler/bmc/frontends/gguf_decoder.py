"""Decoders of the Llama family in PyTorch, with the keys and values of earlier tokens as state."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from bmc.frontends.gguf_config import Config
from bmc.frontends.gguf_weights import Weights


class Decoder(torch.nn.Module):  # type: ignore[misc]
    """Says which token is likely to follow those that it has been given since its state was reset.

    It remembers a fixed number of tokens. One more takes the place of the last, which gives no sensible answer, so
    whoever calls it counts tokens.
    """

    def __init__(self, config: Config, weights: Weights, context: int) -> None:
        super().__init__()
        self._last = context - 1
        self.tokens, head = weights.embedding(
            "token_embd", config.vocabulary, config.width, not weights.has("output.weight")
        )
        self.head = head or weights.linear("output", config.vocabulary, config.width)
        turns = _turns(config, weights, context)
        self.register_buffer("cosines", turns.cos())
        self.register_buffer("sines", turns.sin())
        self.blocks = torch.nn.ModuleList(
            _Block(config, weights, context, f"blk.{number}") for number in range(config.layers)
        )
        self.norm = _Norm(weights.vector("output_norm.weight", config.width), config.epsilon)
        self.register_buffer("length", torch.zeros(1, dtype=torch.int64))
        weights.require_all_taken()

    def prefill(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Takes several tokens, i64 [n]; returns the same as decode()."""
        return self._continue(tokens)

    def decode(self, token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Maps i64 [1] to the likeliest next token i64 [1] and logits f32 [1, vocabulary]."""
        return self._continue(token)

    def _continue(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        places = (self.length + torch.arange(tokens.shape[0])).clamp(max=self._last)
        turns = self.cosines[places], self.sines[places]
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x, places, turns)
        self.length.add_(tokens.shape[0])
        logits = self.head(self.norm(x[-1:]))
        return logits.argmax(1), logits


class _Norm(torch.nn.Module):  # type: ignore[misc]
    """Divides by the root of the mean of squares, and multiplies by weights."""

    def __init__(self, weight: torch.Tensor, epsilon: float) -> None:
        super().__init__()
        self._epsilon = epsilon
        self.register_buffer("weight", weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + self._epsilon)
        return self.weight * (x * scale)


class _Block(torch.nn.Module):  # type: ignore[misc]
    """Attention over earlier tokens, then a gated network, with a normalization before both."""

    def __init__(self, config: Config, weights: Weights, context: int, name: str) -> None:
        super().__init__()
        self.attention_norm = _norm(weights, f"{name}.attn_norm", config.width, config)
        self.attention = _Attention(config, weights, context, name)
        self.network_norm = _norm(weights, f"{name}.ffn_norm", config.width, config)
        self.gate = weights.linear(f"{name}.ffn_gate", config.hidden, config.width)
        self.up = weights.linear(f"{name}.ffn_up", config.hidden, config.width)
        self.down = weights.linear(f"{name}.ffn_down", config.width, config.hidden)

    def forward(
        self, x: torch.Tensor, places: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        """Maps f32 [n, width] at `places` i64 [n] to the same shape; for `turns` see _turned()."""
        x = x + self.attention(self.attention_norm(x), places, turns)
        y = self.network_norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class _Attention(torch.nn.Module):  # type: ignore[misc]
    """Attention in which several heads of queries share one of keys and values."""

    def __init__(self, config: Config, weights: Weights, context: int, name: str) -> None:
        super().__init__()
        self._heads = config.key_heads
        self._head_width = config.head_width
        self._context = context
        rows = config.heads * config.head_width
        key_rows = config.key_heads * config.head_width
        self.queries = weights.linear(
            f"{name}.attn_q", rows, config.width, _order(config, config.heads)
        )
        self.keys = weights.linear(
            f"{name}.attn_k", key_rows, config.width, _order(config, config.key_heads)
        )
        self.values = weights.linear(f"{name}.attn_v", key_rows, config.width)
        self.out = weights.linear(f"{name}.attn_output", config.width, rows)
        self.query_norm: torch.nn.Module = torch.nn.Identity()
        self.key_norm: torch.nn.Module = torch.nn.Identity()
        if config.family.head_norms:
            self.query_norm = _norm(weights, f"{name}.attn_q_norm", config.head_width, config)
            self.key_norm = _norm(weights, f"{name}.attn_k_norm", config.head_width, config)
        shape = (config.key_heads * context, config.head_width)
        self.register_buffer("seen_keys", torch.zeros(shape))
        self.register_buffer("seen_values", torch.zeros(shape))

    def forward(
        self, x: torch.Tensor, places: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        """Maps f32 [n, width] at `places` i64 [n] to the same shape; for `turns` see _turned()."""
        count = x.shape[0]

        def heads(y: torch.Tensor) -> torch.Tensor:
            return y.unflatten(-1, (-1, self._head_width)).transpose(0, 1)

        queries = _turned(self.query_norm(heads(self.queries(x))), turns)
        keys = _turned(self.key_norm(heads(self.keys(x))), turns)
        values = heads(self.values(x))
        # A head's rows lie together, so that the product reads them in their order.
        first = torch.arange(self._heads) * self._context
        rows = (first[:, None] + places).flatten()
        self.seen_keys.index_copy_(0, rows, keys.flatten(0, 1))
        self.seen_values.index_copy_(0, rows, values.flatten(0, 1))
        seen_keys, seen_values = (
            each.unflatten(0, (self._heads, self._context))
            for each in (self.seen_keys, self.seen_values)
        )
        # f32 [key heads, query heads of each * n, head width]
        shared = queries.unflatten(0, (self._heads, -1)).flatten(1, 2)
        scores = shared @ seen_keys.transpose(1, 2) * self._head_width**-0.5
        is_seen = torch.arange(self._context) <= places[:, None]
        scores = scores.unflatten(1, (-1, count)).masked_fill(~is_seen, -1e30)
        found = scores.softmax(-1).flatten(1, 2) @ seen_values
        by_token = found.unflatten(1, (-1, count)).flatten(0, 1).transpose(0, 1)
        return self.out(by_token.flatten(1))


def _norm(weights: Weights, name: str, size: int, config: Config) -> _Norm:
    return _Norm(weights.vector(f"{name}.weight", size), config.epsilon)


def _turns(config: Config, weights: Weights, context: int) -> torch.Tensor:
    """Returns the angles by which positions turn pairs, f32 [context, head_width / 2]."""
    pairs = torch.arange(0, config.head_width, 2).float() / config.head_width
    frequencies = 1.0 / (config.rope_base**pairs) / config.rope_divisor
    if weights.has("rope_freqs.weight"):
        frequencies = frequencies / weights.vector("rope_freqs.weight", config.head_width // 2)
    return torch.outer(torch.arange(context).float(), frequencies)


def _turned(x: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Turns pairs of elements i and i + head_width / 2 of f32 [heads, n, head_width].

    Args:
      x: what to turn.
      turns: cosines and sines of the angles, f32 [n, head_width / 2] each.
    """
    cosines, sines = turns
    left, right = x.chunk(2, -1)
    return torch.cat([left * cosines - right * sines, right * cosines + left * sines], -1)


def _order(config: Config, heads: int) -> npt.NDArray[np.int64] | None:
    """Returns which row of the file each row of queries or keys is, if pairs are neighbors in the file."""
    if not config.family.interleaves:
        return None
    rows = np.arange(heads * config.head_width).reshape(heads, -1, 2)
    return rows.transpose(0, 2, 1).reshape(-1)
