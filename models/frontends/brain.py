"""A network in bf16, inputs and outputs too, as PyTorch computes it: [1, 3, 16, 16] to [1, 10].

It has the products that such networks have: of weights in convolutions and layers, and of two computed matrices.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import torch
from torch import nn

from bmc.spec import ModelSpec

_SHAPE = (2, 1, 3, 16, 16)


class Brain(nn.Module):
    """Patches of an image that look at each other, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.patches = nn.Conv2d(16, 32, 2, stride=2)
        self.keys, self.queries, self.values = (nn.Linear(32, 32) for _ in range(3))
        self.classes = nn.Linear(32 * 16, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Returns a score for each class."""
        patches = torch.relu(self.patches(torch.relu(self.stem(image)))).flatten(2).mT
        scores = torch.relu(self.queries(patches) @ self.keys(patches).mT)
        return self.classes((patches + scores @ self.values(patches)).flatten(1))


def network() -> ModelSpec:
    """The network with random weights."""
    torch.manual_seed(0)
    images = np.random.default_rng(0).standard_normal(_SHAPE).astype(ml_dtypes.bfloat16)
    module = Brain().eval().to(torch.bfloat16)
    return ModelSpec(module=module, cases=tuple((image,) for image in images), tolerance=())
