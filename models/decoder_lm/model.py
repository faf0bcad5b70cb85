"""A small decoder-only transformer over bytes, with a KV cache, which the build has trained (training.py)."""

from __future__ import annotations

import numpy as np
import torch

from bmc.spec import Call, Exact, ModelSpec, Previous, Tolerance
from bmc.training import weights
from models.decoder_lm import training

PROMPT = b"The data set "
NEW_TOKENS = 48


def text() -> ModelSpec:
    """The trained model. The calls decode greedily from PROMPT, token by token."""
    model = training.Decoder()
    names = model.state_dict().keys()
    stored = (torch.from_numpy(weight) for weight in weights(training))
    model.load_state_dict(dict(zip(names, stored, strict=True)))
    prompt = np.frombuffer(PROMPT, np.uint8).astype(np.int64)
    calls = (
        Call("prefill", (prompt,), reset=True),
        *(Call("decode", (Previous(0),)) for _ in range(NEW_TOKENS)),
    )
    return _spoken(model, calls, Tolerance(atol=1e-3, rtol=1e-3))


def text_to_quantize() -> ModelSpec:
    """The same for int8, where a single activation on the border of two steps changes all logits."""
    spec = text()
    return _spoken(spec.module, spec.calls, Tolerance(atol=0.3, rtol=0.0))


def _spoken(model: training.Decoder, calls: tuple[Call, ...], close: Tolerance) -> ModelSpec:
    return ModelSpec(model, (), (Exact(), close, Exact(), close), calls=calls)
