"""What the models have in common: pictures, words, weights of the right size, the specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from bmc.spec import ModelSpec, Tolerance

WORDS = 1000


class Chosen(torch.nn.Module):
    """A model that takes one tensor by name, and whose answer is one of its outputs."""

    def __init__(self, model: torch.nn.Module, takes: str, answer: str) -> None:
        super().__init__()
        self.model = model
        self.takes = takes
        self.answer = answer

    def forward(self, taken: torch.Tensor) -> torch.Tensor:
        """Maps the input to the answer."""
        outputs: Mapping[str, torch.Tensor] = self.model(**{self.takes: taken}, return_dict=True)
        return outputs[self.answer]


def pictures(count: int, size: int, seed: int) -> torch.Tensor:
    """Made-up pictures of colored spots, f32 [count, 3, size, size]."""
    rng = np.random.default_rng(seed)
    spots = torch.from_numpy(rng.standard_normal((count, 3, size // 8, size // 8)))
    return torch.nn.functional.interpolate(spots, size=(size, size), mode="bicubic").float()


def classifier(make: Callable[[], torch.nn.Module], size: int) -> ModelSpec:
    """A model for pictures of size x size, whose batch norms know the statistics of such pictures.

    Without those, the activations of most models here vanish or grow with each layer.
    """
    torch.manual_seed(0)
    model = make()
    torch.optim.swa_utils.update_bn([pictures(16, size, seed=0)], model)
    return specification(model, pictures(1, size, seed=1).numpy())


def language(
    model: torch.nn.Module, answer: str, tokens: int, takes: str = "input_ids"
) -> ModelSpec:
    """A model from transformers that reads a sequence of made-up tokens."""
    words = np.random.default_rng(1).integers(WORDS, size=(1, tokens), dtype=np.int64)
    return specification(Chosen(model, takes, answer), words)


def specification(model: torch.nn.Module, case: np.ndarray[Any, Any]) -> ModelSpec:
    """One case, with a tolerance of a thousandth of what these models answer."""
    return ModelSpec(
        module=model.eval(), cases=((case,),), tolerance=Tolerance(atol=1e-4, rtol=1e-3)
    )
