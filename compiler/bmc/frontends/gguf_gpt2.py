"""GPT-2 in PyTorch, with the keys and values of earlier tokens as state."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from bmc.frontends.gguf_cache import Cache
from bmc.frontends.gguf_config import Keys, vocabulary
from bmc.frontends.gguf_entries import Entries
from bmc.frontends.gguf_weights import Weights
from bmc.gguf_file import GgufFile, bad

NAME = "gpt2"


@dataclass(frozen=True, slots=True)
class Config:
    """A model of this architecture.

    Attributes:
      layers: blocks of attention and a network.
      width: of what blocks pass on.
      hidden: width of the networks.
      heads: of queries, and as many of keys and values.
      vocabulary: how many tokens there are.
      context: how many places the table of places has.
      epsilon: what normalizations add to a variance.
    """

    layers: int
    width: int
    hidden: int
    heads: int
    vocabulary: int
    context: int
    epsilon: float

    def for_transformers(self) -> dict[str, int]:
        """Returns what transformers takes from keys that a file need not have."""
        return {
            "vocab_size": self.vocabulary,
            "n_positions": self.context,
            "n_inner": self.hidden,
        }


def read(file: GgufFile) -> Config:
    """Reads the metadata; raises BmcError for a value out of bounds."""
    keys = Keys(file, NAME)
    config = Config(
        layers=keys.whole("block_count"),
        width=keys.whole("embedding_length"),
        hidden=keys.whole("feed_forward_length"),
        heads=keys.whole("attention.head_count"),
        vocabulary=vocabulary(file),
        context=keys.whole("context_length"),
        epsilon=keys.real("attention.layer_norm_epsilon"),
    )
    if config.width % config.heads:
        raise bad(file.name, f"has {config.heads} heads for a width of {config.width}")
    keys.require_all_known()
    return config


class Gpt2(Entries):
    """A model as GPT-2 is one."""

    def __init__(self, config: Config, weights: Weights, context: int) -> None:
        super().__init__(config.vocabulary, config.width, weights, context)
        all_places, _ = weights.embedding("position_embd", config.context, config.width, False)
        self.register_buffer("places", all_places(torch.arange(context)).detach())
        self.blocks = torch.nn.ModuleList(
            _Block(config, weights, context, f"blk.{number}") for number in range(config.layers)
        )
        self.norm = _Norm(weights, "output_norm", config)
        weights.require_all_taken()

    def hidden(self, tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """As in Entries."""
        x = self.tokens(tokens) + self.places[places]
        for block in self.blocks:
            x = block(x, places)
        return self.norm(x[-1:])


class _Norm(torch.nn.Module):  # type: ignore[misc]
    """Subtracts the mean, divides by the deviation, multiplies by weights and adds others."""

    def __init__(self, weights: Weights, name: str, config: Config) -> None:
        super().__init__()
        self._epsilon = config.epsilon
        self.register_buffer("weight", weights.vector(f"{name}.weight", config.width))
        self.register_buffer("bias", weights.vector(f"{name}.bias", config.width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, x.shape[-1:], self.weight, self.bias, self._epsilon)


class _Block(torch.nn.Module):  # type: ignore[misc]
    """Attention over earlier tokens, then a network, with a normalization before both."""

    def __init__(self, config: Config, weights: Weights, context: int, name: str) -> None:
        super().__init__()
        width = config.width
        self.attention_norm = _Norm(weights, f"{name}.attn_norm", config)
        self.qkv = weights.linear(f"{name}.attn_qkv", 3 * width, width)
        self.cache = Cache(config.heads, width // config.heads, context)
        self.out = weights.linear(f"{name}.attn_output", width, width)
        self.network_norm = _Norm(weights, f"{name}.ffn_norm", config)
        self.up = weights.linear(f"{name}.ffn_up", config.hidden, width)
        self.down = weights.linear(f"{name}.ffn_down", width, config.hidden)

    def forward(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Maps f32 [n, width] at `places` i64 [n] to the same shape."""
        qkv = self.qkv(self.attention_norm(x)).chunk(3, -1)
        queries, keys, values = (self.cache.apart(each) for each in qkv)
        x = x + self.out(self.cache(queries, keys, values, places))
        hidden = functional.gelu(self.up(self.network_norm(x)), approximate="tanh")
        return x + self.down(hidden)
