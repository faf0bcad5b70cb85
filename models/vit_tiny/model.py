"""ViT-Tiny/16 at 224x224x3 (Dosovitskiy et al., 2020; width 192, 12 layers, 3 heads); random weights."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
import transformers

from bmc.spec import ModelSpec, Tolerance

SIZE = 224
CLASSES = 1000


class Classifier(torch.nn.Module):
    """Returns only the logits of the model's outputs."""

    def __init__(self, vit: torch.nn.Module) -> None:
        super().__init__()
        self.vit = vit

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Maps f32 [batch, 3, 224, 224] to f32 [batch, 1000]."""
        return self.vit(pixel_values=pixels).logits


def _pictures(count: int, seed: int) -> tuple[tuple[np.ndarray], ...]:
    """Made-up pictures of colored spots, f32 [1, 3, 224, 224] each."""
    rng = np.random.default_rng(seed)
    spots = torch.from_numpy(rng.standard_normal((count, 3, SIZE // 16, SIZE // 16)))
    smooth = torch.nn.functional.interpolate(spots, size=(SIZE, SIZE), mode="bicubic")
    return tuple((picture[np.newaxis],) for picture in smooth.float().numpy())


def pictures() -> ModelSpec:
    """One picture."""
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=192,
        num_hidden_layers=12,
        num_attention_heads=3,
        intermediate_size=768,
        num_labels=CLASSES,
        image_size=SIZE,
        # Five times the default, so that attention distinguishes patches and logits are of the order of 1.
        # With much more it selects a single patch, and the smallest change selects another one.
        initializer_range=0.1,
        attn_implementation="eager",
    )
    vit = transformers.ViTForImageClassification(config)
    return ModelSpec(
        module=Classifier(vit).eval(),
        cases=_pictures(1, seed=1),
        tolerance=Tolerance(atol=1e-4, rtol=1e-4),
        input_names=("pixels",),
        output_names=("logits",),
        calibration=_pictures(8, seed=0),
    )


def pictures_int8() -> ModelSpec:
    """The same for int8. If PyTorch and integers round to different steps in one layer, all later layers
    differ: PyTorch's own logits change by 0.2 when its input changes by 1e-6."""
    return dataclasses.replace(
        pictures(), tolerance=Tolerance(atol=0.3, rtol=0.0, min_cosine=0.999)
    )
