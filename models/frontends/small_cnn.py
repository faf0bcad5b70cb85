"""A small convolutional network in PyTorch, and the same as an ONNX model: f32 [1, 3, 16, 16] to f32 [1, 10].

It has what makes such networks slow if int8 is compiled carelessly: a residual, depthwise convolutions, a mean.
"""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import numpy as np
import torch
from torch import nn

from bmc.spec import ModelFile, ModelSpec, Tolerance

_SHAPE = (1, 3, 16, 16)


def _layers(inputs: int, outputs: int, size: int, activation: Any, groups: int = 1) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, padding=size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        activation,
    )


class SmallCnn(nn.Module):
    """A residual block, a separable convolution and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _layers(3, 16, 3, nn.ReLU())
        self.block = nn.Sequential(
            _layers(16, 16, 3, nn.ReLU()),
            _layers(16, 16, 3, nn.Identity()),
        )
        self.separable = nn.Sequential(
            _layers(16, 16, 3, nn.ReLU6(), groups=16),
            _layers(16, 32, 1, nn.ReLU6()),
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classes = nn.Linear(32, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Returns a score for each class."""
        features = self.stem(image)
        features = torch.relu(features + self.block(features))
        return self.classes(self.pool(self.separable(features)).flatten(1))


def torch_cnn() -> ModelSpec:
    """The network with random weights; scores are of the order of 0.5."""
    torch.manual_seed(0)
    network = SmallCnn()
    rng = np.random.default_rng(0)
    images = tuple((rng.standard_normal(_SHAPE, np.float32),) for _ in range(10))
    with torch.no_grad():
        # Batch normalizations take their statistics from it.
        network(torch.from_numpy(np.concatenate([image for (image,) in images])))
    return ModelSpec(
        module=network.eval(),
        cases=images[:2],
        # A sum between two steps may round to either.
        tolerance=Tolerance(atol=0.01, rtol=0.0),
        input_names=("image",),
        output_names=("scores",),
        calibration=images[2:],
    )


def torch_half() -> ModelSpec:
    """The same in f16, inputs and outputs too."""
    model = torch_cnn()
    cases = tuple((image.astype(np.float16),) for (image,) in model.cases)
    return dataclasses.replace(
        model, module=model.module.half(), cases=cases, tolerance=(), calibration=()
    )


def onnx_cnn() -> ModelSpec:
    """The network as an ONNX model."""
    return _as_onnx(torch_cnn())


def onnx_half() -> ModelSpec:
    """The same in f16."""
    return _as_onnx(torch_half())


def _as_onnx(model: ModelSpec) -> ModelSpec:
    file = io.BytesIO()
    example = torch.from_numpy(model.cases[0][0])
    torch.onnx.export(model.module, (example,), file, dynamo=False, input_names=["image"])
    return dataclasses.replace(
        model, module=ModelFile(".onnx", file.getvalue()), input_names=(), output_names=()
    )
