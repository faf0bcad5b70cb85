"""Models of torchvision with random weights, for pictures of 64x64 pixels; some with fewer layers or channels."""

from __future__ import annotations

from bmc.spec import ModelSpec
from models.outside.support import classifier
from models.outside.vision import models

SIZE = 64
CLASSES = 100


def resnet18() -> ModelSpec:
    return classifier(lambda: models.resnet18(num_classes=CLASSES), SIZE)


def resnext() -> ModelSpec:
    """ResNeXt 32x4d with one block in each stage instead of 3, 4, 6 and 3."""
    return classifier(
        lambda: models.ResNet(
            models.resnet.Bottleneck,
            [1, 1, 1, 1],
            num_classes=CLASSES,
            groups=32,
            width_per_group=4,
        ),
        SIZE,
    )


def squeezenet() -> ModelSpec:
    return classifier(lambda: models.squeezenet1_1(num_classes=CLASSES), SIZE)


def shufflenet_v2() -> ModelSpec:
    return classifier(lambda: models.shufflenet_v2_x0_5(num_classes=CLASSES), SIZE)


def mnasnet() -> ModelSpec:
    return classifier(lambda: models.mnasnet0_5(num_classes=CLASSES), SIZE)


def efficientnet_b0() -> ModelSpec:
    return classifier(lambda: models.efficientnet_b0(num_classes=CLASSES), SIZE)


def regnet_y() -> ModelSpec:
    return classifier(lambda: models.regnet_y_400mf(num_classes=CLASSES), SIZE)


def densenet() -> ModelSpec:
    """DenseNet with half of DenseNet-121's layers and growth."""
    return classifier(
        lambda: models.DenseNet(
            growth_rate=16,
            block_config=(3, 6, 12, 8),
            num_init_features=32,
            num_classes=CLASSES,
        ),
        SIZE,
    )


def convnext() -> ModelSpec:
    """ConvNeXt with half of ConvNeXt-Tiny's channels and a third of its blocks."""
    return classifier(
        lambda: models.ConvNeXt(
            [
                models.convnext.CNBlockConfig(48, 96, 1),
                models.convnext.CNBlockConfig(96, 192, 1),
                models.convnext.CNBlockConfig(192, 384, 3),
                models.convnext.CNBlockConfig(384, None, 1),
            ],
            layer_scale=1.0,
            num_classes=CLASSES,
        ),
        SIZE,
    )


def googlenet() -> ModelSpec:
    return classifier(
        lambda: models.googlenet(num_classes=CLASSES, aux_logits=False, init_weights=False), SIZE
    )
