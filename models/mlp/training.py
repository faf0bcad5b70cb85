"""A 64-64-32-10 perceptron, trained on changed copies of scikit-learn's 8x8 digits (real scans)."""

from __future__ import annotations

import numpy as np
import torch

from bmc.spec import Array

HELD_OUT = 360
STEPS = 2000
BATCH = 128
# The most that a coefficient of a copy's affine map differs from the identity's. The image spans -1 to 1, so this
# is one pixel of shift, and at the borders one of stretch and one of slant.
CHANGE = 0.25


def architecture() -> torch.nn.Module:
    """Maps pixels f32 [batch, 64] to logits f32 [batch, 10]."""
    return torch.nn.Sequential(
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, 10),
    )


def trained() -> list[Array]:
    """Trains the model, never with the last HELD_OUT images.

    Returns images f32 [1797, 64] in 0..1 and labels i64 [1797], which an import then need not load, and the weights.
    """
    import sklearn.datasets

    data = sklearn.datasets.load_digits()
    images = (data.data / 16.0).astype(np.float32)
    labels = data.target.astype(np.int64)
    model = _train(torch.from_numpy(images[:-HELD_OUT]), torch.from_numpy(labels[:-HELD_OUT]))
    return [images, labels, *(weight.numpy() for weight in model.state_dict().values())]


def _train(images: torch.Tensor, labels: torch.Tensor) -> torch.nn.Module:
    torch.manual_seed(0)
    model = architecture()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, STEPS)
    for _ in range(STEPS):
        chosen = torch.randint(len(images), (BATCH,))
        optimizer.zero_grad()
        scores = model(_changed(images[chosen]))
        torch.nn.functional.cross_entropy(scores, labels[chosen]).backward()
        optimizer.step()
        schedule.step()
    return model


def _changed(images: torch.Tensor) -> torch.Tensor:
    """Returns copies of f32 [batch, 64], each moved, turned and stretched at random."""
    count = len(images)
    maps = torch.eye(2, 3) + CHANGE * (2 * torch.rand(count, 2, 3) - 1)
    grid = torch.nn.functional.affine_grid(maps, [count, 1, 8, 8], align_corners=False)
    squares = images.reshape(count, 1, 8, 8)
    return torch.nn.functional.grid_sample(squares, grid, align_corners=False).reshape(count, 64)
