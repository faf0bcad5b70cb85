"""A language model in a folder of transformers', for a model.py of one line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers.cache_utils import Cache, StaticLayer

from bmc import spec
from bmc.frontends import prompts
from bmc.frontends.prompts import Sizes
from bmc.frontends.transformers_generator import Generator

# Added to the score of a token that is not seen.
_UNSEEN = -1e30
_TOLERANCE = spec.Tolerance(atol=1e-3, rtol=1e-3)


def language_model(
    folder: Path | str,
    *,
    context: int = prompts.DEFAULT_CONTEXT,
    tokens: int = prompts.DEFAULT_TOKENS,
    cases: Sequence[Sequence[int]] = (),
    tolerance: spec.Tolerance = _TOLERANCE,
) -> spec.ModelSpec:
    """Returns a decoder with the entry points prefill and decode, which both return the next token and logits.

    Args:
      folder: what save_pretrained() of a model with AutoModelForCausalLM wrote.
      context: how many tokens it remembers.
      tokens: how many prefill takes at a time.
      cases: prompts to check it on, each of `tokens` tokens or more; without any, one is made up.
      tolerance: of logits.

    Raises:
      BmcError: a prompt does not fit.
    """
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, local_files_only=True
    )
    sizes = Sizes(context, tokens, model.config.get_text_config().vocab_size)
    given = [prompts.of_case((np.array(case, np.int64),), sizes) for case in cases]
    decoder = _Decoder(model.eval(), context)
    calls = tuple(
        call
        for prompt in given or [prompts.made_up(sizes)]
        for call in prompts.calls(prompt, Generator(model), sizes)
    )
    return spec.ModelSpec(
        decoder,
        (),
        (spec.Exact(), tolerance) * 2,
        calls=calls,
        ranges=((0, sizes.vocabulary - 1),) * 2,
    )


class _Decoder(torch.nn.Module):  # type: ignore[misc]
    """The model with a cache of a fixed size, whose keys and values are buffers."""

    def __init__(self, model: torch.nn.Module, context: int) -> None:
        super().__init__()
        self.model = model
        self._last = context - 1
        config = model.config.get_text_config()
        slides = "sliding_attention" in (getattr(config, "layer_types", None) or ())
        self._window = config.sliding_window if slides else None
        self._layers = [StaticLayer(context) for _ in range(config.num_hidden_layers)]
        heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
        width = (
            getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        )
        for number, layer in enumerate(self._layers):
            layer.lazy_initialization(torch.zeros(1, heads, context, width))
            self.register_buffer(f"keys_{number}", layer.keys)
            self.register_buffer(f"values_{number}", layer.values)
        self.register_buffer("length", torch.zeros(1, dtype=torch.int64))

    def prefill(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Takes several tokens, i64 [n]; returns the same as decode()."""
        return self._continue(tokens)

    def decode(self, token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Maps i64 [1] to the likeliest next token i64 [1] and logits f32 [1, vocabulary]."""
        return self._continue(token)

    def _continue(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # An export puts other tensors in the place of buffers.
        for number, layer in enumerate(self._layers):
            layer.keys = getattr(self, f"keys_{number}")
            layer.values = getattr(self, f"values_{number}")
        places = (self.length + torch.arange(tokens.shape[0])).clamp(max=self._last)
        logits = self.model(
            tokens[None],
            attention_mask=self._masks(places),
            past_key_values=Cache(layers=self._layers),
            cache_position=places,
            position_ids=places[None],
            use_cache=True,
            logits_to_keep=1,
        ).logits[0]
        self.length.add_(tokens.shape[0])
        return logits.argmax(1), logits

    def _masks(self, places: torch.Tensor) -> torch.Tensor | dict[str, torch.Tensor]:
        """Returns what to add to scores, f32 [1, 1, n, context], by kind of layer if some see only the last tokens."""
        ages = places[:, None] - torch.arange(self._last + 1)
        full = torch.where(ages >= 0, 0.0, _UNSEEN)[None, None]
        if self._window is None:
            return full
        near = torch.where(ages < self._window, full, _UNSEEN)
        return {"full_attention": full, "sliding_attention": near}
