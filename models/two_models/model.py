"""A denoiser for the pictures that models/mlp classifies, trained during the import on the same digits.

Its cases are held-out images with seeded noise. The training data has neither these images nor their noise.
"""

from __future__ import annotations

import numpy as np
import sklearn.datasets
import torch

from bmc.spec import ModelSpec, Tolerance

HELD_OUT = 360
CASES = 40
NOISE = 0.3
STEPS = 300
BATCH = 64


class Denoiser(torch.nn.Module):
    """Takes and returns f32 [batch, 64]: rows of 8x8 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(8, 8, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(8, 1, 3, padding=1),
        )

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.layers(image.reshape(-1, 1, 8, 8)).reshape(-1, 64)


def _train(clean: torch.Tensor) -> Denoiser:
    torch.manual_seed(0)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        images = clean[torch.randint(len(clean), (BATCH,))]
        noisy = images + NOISE * torch.randn_like(images)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(noisy), images).backward()
        optimizer.step()
    return model.eval()


def denoiser() -> ModelSpec:
    """The trained denoiser. Each noisy held-out image is a case of shape f32 [1, 64]."""
    images = (sklearn.datasets.load_digits().data / 16.0).astype(np.float32)
    noise = np.random.default_rng(0).normal(0, NOISE, (CASES, 64))
    noisy = (images[-HELD_OUT:][:CASES] + noise).astype(np.float32)
    return ModelSpec(
        module=_train(torch.from_numpy(images[:-HELD_OUT])),
        cases=tuple((image[np.newaxis],) for image in noisy),
        tolerance=Tolerance(atol=1e-5, rtol=1e-5),
        input_names=("noisy",),
        output_names=("image",),
    )
