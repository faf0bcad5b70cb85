"""Writes a convolution with a dynamic batch as a .pt2 file: f32 [batch, 3, 16, 16] to [batch, 4]."""

from __future__ import annotations

import sys

import torch

torch.manual_seed(0)
network = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, stride=2, padding=1),
    torch.nn.BatchNorm2d(8),
    torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(8, 4),
).eval()
batch = ({0: torch.export.Dim("batch")},)
torch.export.save(
    torch.export.export(network, (torch.randn(2, 3, 16, 16),), dynamic_shapes=batch), sys.argv[1]
)
