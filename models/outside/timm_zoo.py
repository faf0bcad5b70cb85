"""Models of timm with random weights, for pictures of 64x64 pixels; some with fewer layers or channels."""

from __future__ import annotations

from typing import Any

from bmc.spec import ModelSpec
from models.outside import vision  # noqa: F401  before timm, which imports torchvision
from models.outside.support import classifier

# isort: split
import timm
from timm.models.mlp_mixer import MlpMixer

SIZE = 64
CLASSES = 100


def _model(name: str, **options: Any) -> ModelSpec:
    return classifier(
        lambda: timm.create_model(name, pretrained=False, num_classes=CLASSES, **options), SIZE
    )


def mobilenet_v3() -> ModelSpec:
    return _model("mobilenetv3_small_050")


def ghostnet() -> ModelSpec:
    return _model("ghostnet_050")


def repvgg() -> ModelSpec:
    """RepVGG-A0 as it is trained: three branches in each block."""
    return _model("repvgg_a0")


def mixer() -> ModelSpec:
    """MLP-Mixer with 4 blocks of width 128 and patches of 8x8 pixels, without its head, whose weights are zeros."""
    return classifier(
        lambda: MlpMixer(img_size=SIZE, patch_size=8, num_blocks=4, embed_dim=128, num_classes=0),
        SIZE,
    )


def efficientvit() -> ModelSpec:
    return _model("efficientvit_b0")


def mobilevit() -> ModelSpec:
    return _model("mobilevit_xxs")


def efficientnet_lite() -> ModelSpec:
    """EfficientNet-Lite0 with the paddings of TensorFlow, which depend on the size of the picture."""
    return _model("tf_efficientnet_lite0")


def levit() -> ModelSpec:
    """LeViT-128S."""
    return _model("levit_128s", img_size=SIZE)


def poolformer() -> ModelSpec:
    return _model("poolformer_s12")


def hrnet() -> ModelSpec:
    return _model("hrnet_w18_small")


def res2net() -> ModelSpec:
    """Res2Net-50 with one block in each stage instead of 3, 4, 6 and 3."""
    return _model("res2net50_26w_4s", layers=(1, 1, 1, 1))
