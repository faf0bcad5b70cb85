"""BertForMaskedLM in bert-tiny's configuration: 2 layers, hidden 128, 2 heads, 30,522 words.

The weights come from checkpoint/ next to this file (config.json and weights) if it exists.
Otherwise they are a seeded initialization.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import transformers

from bmc.spec import ModelSpec, Tolerance

CHECKPOINT = Path(__file__).with_name("checkpoint")
TOKENS = 128


class MaskedLanguageModel(torch.nn.Module):
    """Computes word logits for every position."""

    def __init__(self, bert: torch.nn.Module) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Maps int64 [batch, tokens] to f32 [batch, tokens, words]."""
        return self.bert(input_ids=input_ids).logits


def _load() -> transformers.BertForMaskedLM:
    if (CHECKPOINT / "config.json").is_file():
        return transformers.BertForMaskedLM.from_pretrained(CHECKPOINT, attn_implementation="eager")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
        attn_implementation="eager",
    )
    return transformers.BertForMaskedLM(config)


def _spec(batch: int) -> ModelSpec:
    bert = _load()
    ids = np.random.default_rng(0).integers(0, bert.config.vocab_size, (batch, TOKENS))
    return ModelSpec(
        module=MaskedLanguageModel(bert).eval(),
        cases=((ids,),),
        tolerance=Tolerance(atol=1e-5, rtol=1e-5),
        input_names=("input_ids",),
        output_names=("logits",),
    )


def batch1() -> ModelSpec:
    """One row of 128 tokens, whose instructions are in the baseline."""
    return _spec(1)


def batch2() -> ModelSpec:
    """Two rows of 128 tokens."""
    return _spec(2)
