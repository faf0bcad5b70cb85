"""InceptionV4 at 299x299x3 (Szegedy et al., 2016, arXiv 1602.07261, figures 3 to 9); random weights."""

from __future__ import annotations

import keras
from keras import layers

from bmc.spec import ModelSpec, Tolerance
from models.support import imagenet

SIZE = 299
Tensor = keras.KerasTensor


def _conv(x: Tensor, filters: int, *kernel: int, stride: int = 1, padding: str = "same") -> Tensor:
    """Convolution, batch normalization, ReLU. One number for `kernel` is a square."""
    size = kernel * 2 if len(kernel) == 1 else kernel
    x = layers.Conv2D(filters, size, stride, padding=padding, use_bias=False)(x)
    return layers.ReLU()(layers.BatchNormalization(scale=False)(x))


def _max_pool(x: Tensor) -> Tensor:
    return layers.MaxPooling2D(3, 2, padding="valid")(x)


def _pool_conv(x: Tensor, filters: int) -> Tensor:
    return _conv(layers.AveragePooling2D(3, 1, padding="same")(x), filters, 1)


def _stem(x: Tensor) -> Tensor:
    """299x299x3 to 35x35x384."""
    x = _conv(x, 32, 3, stride=2, padding="valid")
    x = _conv(x, 32, 3, padding="valid")
    x = _conv(x, 64, 3)
    x = layers.Concatenate()([_max_pool(x), _conv(x, 96, 3, stride=2, padding="valid")])
    short = _conv(_conv(x, 64, 1), 96, 3, padding="valid")
    long = _conv(_conv(_conv(x, 64, 1), 64, 7, 1), 64, 1, 7)
    x = layers.Concatenate()([short, _conv(long, 96, 3, padding="valid")])
    return layers.Concatenate()([_conv(x, 192, 3, stride=2, padding="valid"), _max_pool(x)])


def _block_a(x: Tensor) -> Tensor:
    long = _conv(_conv(_conv(x, 64, 1), 96, 3), 96, 3)
    return layers.Concatenate()(
        [_pool_conv(x, 96), _conv(x, 96, 1), _conv(_conv(x, 64, 1), 96, 3), long]
    )


def _reduction_a(x: Tensor) -> Tensor:
    """35x35x384 to 17x17x1024."""
    long = _conv(_conv(_conv(x, 192, 1), 224, 3), 256, 3, stride=2, padding="valid")
    return layers.Concatenate()([_max_pool(x), _conv(x, 384, 3, stride=2, padding="valid"), long])


def _block_b(x: Tensor) -> Tensor:
    middle = _conv(_conv(_conv(x, 192, 1), 224, 1, 7), 256, 7, 1)
    long = _conv(_conv(_conv(x, 192, 1), 192, 1, 7), 224, 7, 1)
    long = _conv(_conv(long, 224, 1, 7), 256, 7, 1)
    return layers.Concatenate()([_pool_conv(x, 128), _conv(x, 384, 1), middle, long])


def _reduction_b(x: Tensor) -> Tensor:
    """17x17x1024 to 8x8x1536."""
    short = _conv(_conv(x, 192, 1), 192, 3, stride=2, padding="valid")
    long = _conv(_conv(_conv(x, 256, 1), 256, 1, 7), 320, 7, 1)
    long = _conv(long, 320, 3, stride=2, padding="valid")
    return layers.Concatenate()([_max_pool(x), short, long])


def _block_c(x: Tensor) -> Tensor:
    middle = _conv(x, 384, 1)
    long = _conv(_conv(_conv(x, 384, 1), 448, 1, 3), 512, 3, 1)
    return layers.Concatenate()(
        [
            _pool_conv(x, 256),
            _conv(x, 256, 1),
            _conv(middle, 256, 1, 3),
            _conv(middle, 256, 3, 1),
            _conv(long, 256, 3, 1),
            _conv(long, 256, 1, 3),
        ]
    )


def architecture() -> keras.Model:
    """InceptionV4: f32 [batch, 299, 299, 3] to a thousand logits."""
    image = keras.Input((SIZE, SIZE, 3), name="image")
    x = _stem(image)
    for _ in range(4):
        x = _block_a(x)
    x = _reduction_a(x)
    for _ in range(7):
        x = _block_b(x)
    x = _reduction_b(x)
    for _ in range(3):
        x = _block_c(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(image, layers.Dense(1000, name="logits")(x))


def pictures() -> ModelSpec:
    """One picture, f32 [1, 299, 299, 3], to a thousand logits."""
    return imagenet.classifier(
        architecture,
        size=SIZE,
        logits="logits",
        examples=4,
        # Rounding errors grow through about 80 layers of random weights: Keras's own f32 is 2.6e-3 from f64.
        tolerance=Tolerance(atol=1e-2, rtol=1e-3, min_cosine=0.99999),
    )
