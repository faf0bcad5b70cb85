"""all-MiniLM-L6-v2: a BERT encoder that turns sentences into vectors whose dot product is their
similarity (package.py).
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from bmc.spec import ModelSpec, Tolerance
from models.bert import package

SENTENCES = Path(__file__).with_name("sentences.txt")
# For the ranges of int8.
OTHER_SENTENCES = Path(__file__).with_name("other_sentences.txt")
TOKENS = 32


class SentenceEncoder(torch.nn.Module):
    """BERT, then the mean of the last hidden states of real tokens, scaled to length 1."""

    def __init__(self, bert: torch.nn.Module) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Encodes int64 [sentences, tokens] ids and mask to f32 [sentences, 384]."""
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).float()
        mean = (hidden * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(mean, dim=1)


def minilm() -> ModelSpec:
    """The encoder with the sentences in sentences.txt as its only case."""
    folder = package.folder()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    sentences = SENTENCES.read_text().splitlines()
    others = OTHER_SENTENCES.read_text().splitlines()
    batches = range(0, len(others) - len(sentences) + 1, len(sentences))
    bert = transformers.BertModel.from_pretrained(folder, attn_implementation="eager")
    return ModelSpec(
        module=SentenceEncoder(bert).eval(),
        cases=(_tokens(tokenizer, sentences),),
        tolerance=Tolerance(atol=1e-5, rtol=0.0, min_cosine=0.9999),
        input_names=("input_ids", "attention_mask"),
        output_names=("sentence_vectors",),
        calibration=tuple(
            _tokens(tokenizer, others[first : first + len(sentences)]) for first in batches
        ),
    )


def minilm_int8() -> ModelSpec:
    """The same for int8. If PyTorch and integers round to different steps in one layer, all later layers
    differ: PyTorch's own vectors change by 0.02 when its word embeddings change by 1e-6."""
    return dataclasses.replace(minilm(), tolerance=Tolerance(atol=0.03, rtol=0.0, min_cosine=0.985))


def _tokens(tokenizer: Any, sentences: list[str]) -> tuple[np.ndarray, ...]:
    """Ids and mask of these sentences, int64 [sentences, TOKENS] each."""
    tokens = tokenizer(
        sentences, padding="max_length", max_length=TOKENS, truncation=True, return_tensors="np"
    )
    return tokens["input_ids"], tokens["attention_mask"]
