"""A digit classifier, trained during the import on changed copies of scikit-learn's 8x8 digits (real scans).

The target classifies the last 360 of the 1,797 images, which training never sees. Its accuracy
must equal PyTorch's.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import sklearn.datasets
import torch

from bmc.spec import Case, ModelSpec, Tolerance

HELD_OUT = 360
STEPS = 2000
BATCH = 128
# The most that a coefficient of a copy's affine map differs from the identity's. The image spans -1 to 1, so this
# is one pixel of shift, and at the borders one of stretch and one of slant.
CHANGE = 0.25
CALIBRATION = 256
CLOSE = Tolerance(atol=1e-4, rtol=1e-5)
# PyTorch computes the quantized model in floats, where a tie may round to the other side. One step in a
# layer's input changes all logits.
ONE_STEP = Tolerance(atol=0.1, rtol=0.0)


def _changed(images: torch.Tensor) -> torch.Tensor:
    """Returns copies of f32 [batch, 64], each moved, turned and stretched at random."""
    count = len(images)
    maps = torch.eye(2, 3) + CHANGE * (2 * torch.rand(count, 2, 3) - 1)
    grid = torch.nn.functional.affine_grid(maps, [count, 1, 8, 8], align_corners=False)
    squares = images.reshape(count, 1, 8, 8)
    return torch.nn.functional.grid_sample(squares, grid, align_corners=False).reshape(count, 64)


def _train(images: torch.Tensor, labels: torch.Tensor) -> torch.nn.Module:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, STEPS)
    for _ in range(STEPS):
        chosen = torch.randint(len(images), (BATCH,))
        optimizer.zero_grad()
        scores = model(_changed(images[chosen]))
        torch.nn.functional.cross_entropy(scores, labels[chosen]).backward()
        optimizer.step()
        schedule.step()
    return model.eval()


def _cases(images: npt.NDArray[np.float32]) -> tuple[Case, ...]:
    return tuple((image[np.newaxis],) for image in images)


def digits() -> ModelSpec:
    """The trained classifier. Each held-out image is a case of shape f32 [1, 64]."""
    return _digits(CLOSE)


def digits_to_quantize() -> ModelSpec:
    """The same, but outputs may be off by a step."""
    return _digits(ONE_STEP)


def _digits(tolerance: Tolerance) -> ModelSpec:
    data = sklearn.datasets.load_digits()
    images = (data.data / 16.0).astype(np.float32)
    labels = data.target.astype(np.int64)
    model = _train(torch.from_numpy(images[:-HELD_OUT]), torch.from_numpy(labels[:-HELD_OUT]))
    return ModelSpec(
        module=model,
        cases=_cases(images[-HELD_OUT:]),
        tolerance=tolerance,
        labels=labels[-HELD_OUT:],
        input_names=("image",),
        output_names=("logits",),
        calibration=_cases(images[:CALIBRATION]),
    )
