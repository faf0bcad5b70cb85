"""Whisper's encoder in the configuration of whisper-tiny (width 384, 4 layers, 6 heads); random weights.

It takes 2 s of sound instead of 30: 200 mel frames become 100 positions.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
import transformers
from transformers.models.whisper.modeling_whisper import WhisperEncoder

from bmc.spec import ModelSpec, Tolerance

POSITIONS = 100
MELS = 80


class Encoder(torch.nn.Module):
    """Returns only the last hidden state of the encoder's outputs."""

    def __init__(self, encoder: torch.nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        """Maps f32 [batch, 80, 200] to f32 [batch, 100, 384]."""
        return self.encoder(mel).last_hidden_state


def _sounds(count: int, seed: int) -> tuple[tuple[np.ndarray], ...]:
    """Made-up log-mel spectra that change slowly in time; f32 [1, 80, 200] each."""
    noise = np.random.default_rng(seed).standard_normal((count, MELS, 2 * POSITIONS + 8))
    slow = np.stack([noise[..., i : i + 2 * POSITIONS] for i in range(9)]).mean(axis=0) * 2
    return tuple((sound[np.newaxis],) for sound in slow.astype(np.float32))


def speech() -> ModelSpec:
    """One sound."""
    torch.manual_seed(0)
    config = transformers.WhisperConfig(
        d_model=384,
        encoder_layers=4,
        encoder_attention_heads=6,
        encoder_ffn_dim=1536,
        num_mel_bins=MELS,
        max_source_positions=POSITIONS,
        # The spread that training ends with. With the default, attention cannot tell positions apart.
        init_std=0.1,
        attn_implementation="eager",
    )
    return ModelSpec(
        module=Encoder(WhisperEncoder(config)).eval(),
        cases=_sounds(1, seed=1),
        tolerance=Tolerance(atol=1e-4, rtol=1e-4),
        input_names=("mel",),
        output_names=("states",),
        calibration=_sounds(4, seed=0),
    )


def speech_int8() -> ModelSpec:
    """The same for int8. If PyTorch and integers round a value to different steps in one layer, the result
    is a few steps off after the last layer, where a step is about 0.03."""
    return dataclasses.replace(speech(), tolerance=Tolerance(atol=0.15, rtol=0.0, min_cosine=0.999))
