"""Decoders of the Llama family in PyTorch, with the keys and values of earlier tokens as state."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from bmc.frontends.gguf_cache import Cache
from bmc.frontends.gguf_config import Config
from bmc.frontends.gguf_entries import Entries
from bmc.frontends.gguf_weights import Weights


class Decoder(Entries):
    """A model of the Llama family."""

    def __init__(self, config: Config, weights: Weights, context: int) -> None:
        super().__init__(config.vocabulary, config.width, weights, context)
        self._scale = config.width**0.5 if config.family.scales_tokens else 1.0
        self.turns = _Turns(
            _powers(config.rope_base, config.head_width) / divisors(config, weights), context
        )
        self.near_turns = self.turns
        if config.window:
            self.near_turns = _Turns(_powers(config.window_rope_base, config.head_width), context)
        self.blocks = torch.nn.ModuleList(
            _Block(config, weights, context, number) for number in range(config.layers)
        )
        self.norm = _Norm(weights.vector("output_norm.weight", config.width), config.epsilon)
        weights.require_all_taken()

    def hidden(self, tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """As in Entries."""
        all_turns = self.turns(places)
        near_turns = all_turns if self.near_turns is self.turns else self.near_turns(places)
        x = self.tokens(tokens)
        if self._scale != 1:
            x = x * self._scale
        for block in self.blocks:
            x = block(x, places, all_turns if block.sees_all else near_turns)
        return self.norm(x[-1:])


class _Turns(torch.nn.Module):  # type: ignore[misc]
    """Cosines and sines of the angles by which positions turn pairs."""

    def __init__(self, frequencies: torch.Tensor, context: int) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(context).float(), frequencies)
        self.register_buffer("cosines", angles.cos())
        self.register_buffer("sines", angles.sin())

    def forward(self, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Maps i64 [n] to two of f32 [n, head_width / 2]."""
        return self.cosines[places], self.sines[places]


class _Norm(torch.nn.Module):  # type: ignore[misc]
    """Divides by the root of the mean of squares, and multiplies by weights."""

    def __init__(self, weight: torch.Tensor, epsilon: float) -> None:
        super().__init__()
        self._epsilon = epsilon
        self.register_buffer("weight", weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + self._epsilon)
        return self.weight * (x * scale)


class _Block(torch.nn.Module):  # type: ignore[misc]
    """Attention over earlier tokens, then a gated network, with a normalization before both, or also behind."""

    def __init__(self, config: Config, weights: Weights, context: int, number: int) -> None:
        super().__init__()
        name = f"blk.{number}"

        def norm(part: str, is_there: bool = True) -> torch.nn.Module:
            there = _norm(weights, f"{name}.{part}", config.width, config) if is_there else None
            return there or torch.nn.Identity()

        post = config.family.post_norms
        self._is_gelu = config.family.is_gelu
        self.sees_all = config.sees_all(number)
        self.attention_norm = norm("attn_norm")
        self.attention = _Attention(
            config, weights, context, name, 0 if self.sees_all else config.window
        )
        self.attention_post_norm = norm("post_attention_norm", post)
        self.network_norm = norm("ffn_norm")
        self.gate = weights.linear(f"{name}.ffn_gate", config.hidden, config.width)
        self.up = weights.linear(f"{name}.ffn_up", config.hidden, config.width)
        self.down = weights.linear(f"{name}.ffn_down", config.width, config.hidden)
        self.network_post_norm = norm("post_ffw_norm", post)

    def forward(
        self, x: torch.Tensor, places: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        """Maps f32 [n, width] at `places` i64 [n] to the same shape; for `turns` see _turned()."""
        attended = self.attention(self.attention_norm(x), places, turns)
        x = x + self.attention_post_norm(attended)
        y = self.network_norm(x)
        gate = self.gate(y)
        gate = functional.gelu(gate, approximate="tanh") if self._is_gelu else functional.silu(gate)
        return x + self.network_post_norm(self.down(gate * self.up(y)))


class _Attention(torch.nn.Module):  # type: ignore[misc]
    """What attention is given, and what it makes of that."""

    def __init__(
        self, config: Config, weights: Weights, context: int, name: str, window: int
    ) -> None:
        super().__init__()
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
        self.cache = Cache(config.key_heads, config.head_width, context, window)

    def forward(
        self, x: torch.Tensor, places: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        """Maps f32 [n, width] at `places` i64 [n] to the same shape; for `turns` see _turned()."""
        queries = _turned(self.query_norm(self.cache.apart(self.queries(x))), turns)
        keys = _turned(self.key_norm(self.cache.apart(self.keys(x))), turns)
        values = self.cache.apart(self.values(x))
        return self.out(self.cache(queries, keys, values, places))


def _norm(weights: Weights, name: str, size: int, config: Config) -> _Norm:
    return _Norm(weights.vector(f"{name}.weight", size), config.epsilon)


def divisors(config: Config, weights: Weights) -> torch.Tensor:
    """Returns what the file divides the angles of pairs by, f32 [head_width / 2]."""
    pairs = config.head_width // 2
    found = torch.full((pairs,), config.rope_divisor)
    if weights.has("rope_freqs.weight"):
        found = found * weights.vector("rope_freqs.weight", pairs)
    return found


def _powers(base: float, head_width: int) -> torch.Tensor:
    return 1.0 / base ** (torch.arange(0, head_width, 2).float() / head_width)


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
