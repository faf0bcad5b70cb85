"""Keras layers, each as a model of just that layer, in f32."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import keras
import numpy as np
from keras import layers
from op_case import OpCase

from bmc import spec
from bmc.artifacts import ImportedModel
from bmc.frontends import keras as frontend
from bmc.frontends.options import ImportOptions

_IMAGE = (8, 8, 4)
_STEPS = (6, 8)
_VOLUME = (4, 4, 4, 2)

_Layer = Callable[[], layers.Layer]

# Name below keras.layers. -> the layer.
_OF_IMAGES: dict[str, _Layer] = {
    "Activation (gelu)": lambda: layers.Activation("gelu"),
    "Activation (hard_silu)": lambda: layers.Activation("hard_silu"),
    "Activation (mish)": lambda: layers.Activation("mish"),
    "Activation (selu)": lambda: layers.Activation("selu"),
    "Activation (sigmoid)": lambda: layers.Activation("sigmoid"),
    "Activation (silu)": lambda: layers.Activation("silu"),
    "Activation (softplus)": lambda: layers.Activation("softplus"),
    "Activation (tanh)": lambda: layers.Activation("tanh"),
    "AveragePooling2D": lambda: layers.AveragePooling2D(2),
    "AveragePooling2D (same)": lambda: layers.AveragePooling2D(3, 2, padding="same"),
    "BatchNormalization": layers.BatchNormalization,
    "CenterCrop": lambda: layers.CenterCrop(4, 4),
    "Conv2D": lambda: layers.Conv2D(8, 3, padding="same", activation="relu"),
    "Conv2D (dilated)": lambda: layers.Conv2D(8, 3, dilation_rate=2),
    "Conv2D (grouped)": lambda: layers.Conv2D(8, 3, groups=2),
    "Conv2D (strided)": lambda: layers.Conv2D(8, 3, strides=2, padding="same"),
    "Conv2DTranspose": lambda: layers.Conv2DTranspose(8, 3, strides=2, padding="same"),
    "Cropping2D": lambda: layers.Cropping2D(1),
    "Dense": lambda: layers.Dense(5),
    "DepthwiseConv2D": lambda: layers.DepthwiseConv2D(3, padding="same"),
    "Dropout": lambda: layers.Dropout(0.5),
    "ELU": layers.ELU,
    "Flatten": layers.Flatten,
    "GaussianNoise": lambda: layers.GaussianNoise(0.1),
    "GlobalAveragePooling2D": layers.GlobalAveragePooling2D,
    "GlobalMaxPooling2D": layers.GlobalMaxPooling2D,
    "GroupNormalization": lambda: layers.GroupNormalization(2),
    "LayerNormalization": layers.LayerNormalization,
    "LeakyReLU": layers.LeakyReLU,
    "MaxPooling2D": lambda: layers.MaxPooling2D(2),
    "PReLU": layers.PReLU,
    "Permute": lambda: layers.Permute((3, 1, 2)),
    "RMSNormalization": layers.RMSNormalization,
    "ReLU": lambda: layers.ReLU(6.0),
    "Rescaling": lambda: layers.Rescaling(0.5, 1.0),
    "Reshape": lambda: layers.Reshape((16, 16)),
    "Resizing": lambda: layers.Resizing(16, 16),
    "SeparableConv2D": lambda: layers.SeparableConv2D(8, 3),
    "Softmax": layers.Softmax,
    "SpectralNormalization": lambda: layers.SpectralNormalization(layers.Dense(4)),
    "UnitNormalization": layers.UnitNormalization,
    "UpSampling2D": lambda: layers.UpSampling2D(2),
    "UpSampling2D (bilinear)": lambda: layers.UpSampling2D(2, interpolation="bilinear"),
    "ZeroPadding2D": lambda: layers.ZeroPadding2D(1),
}
_OF_STEPS: dict[str, _Layer] = {
    "AveragePooling1D": lambda: layers.AveragePooling1D(2),
    "Bidirectional": lambda: layers.Bidirectional(layers.GRU(4)),
    "Conv1D": lambda: layers.Conv1D(4, 3, padding="causal"),
    "Conv1DTranspose": lambda: layers.Conv1DTranspose(4, 3, strides=2),
    "EinsumDense": lambda: layers.EinsumDense("abc,cd->abd", (None, 4), bias_axes="d"),
    "GRU": lambda: layers.GRU(5),
    "GlobalAveragePooling1D": layers.GlobalAveragePooling1D,
    "LSTM": lambda: layers.LSTM(5, return_sequences=True),
    "MaxPooling1D": lambda: layers.MaxPooling1D(2),
    "SimpleRNN": lambda: layers.SimpleRNN(5),
    "TimeDistributed": lambda: layers.TimeDistributed(layers.Dense(3)),
    "ZeroPadding1D": lambda: layers.ZeroPadding1D(2),
}
_OF_VOLUMES: dict[str, _Layer] = {
    "AveragePooling3D": lambda: layers.AveragePooling3D(2),
    "Conv3D": lambda: layers.Conv3D(4, 3),
    "MaxPooling3D": lambda: layers.MaxPooling3D(2),
}
# Layers that take the same tensor several times.
_OF_SEVERAL: dict[str, tuple[_Layer, int]] = {
    "Add": (layers.Add, 2),
    "AdditiveAttention": (layers.AdditiveAttention, 2),
    "Attention": (layers.Attention, 2),
    "Average": (layers.Average, 3),
    "Concatenate": (layers.Concatenate, 2),
    "Dot": (lambda: layers.Dot(2), 2),
    "Maximum": (layers.Maximum, 2),
    "Minimum": (layers.Minimum, 2),
    "Multiply": (layers.Multiply, 2),
    "Subtract": (layers.Subtract, 2),
}


def cases() -> Iterator[OpCase]:
    """Yields every layer once."""
    models: dict[str, Callable[[], keras.Model]] = {}
    for shape, table in ((_IMAGE, _OF_IMAGES), (_STEPS, _OF_STEPS), (_VOLUME, _OF_VOLUMES)):
        for name, layer in table.items():
            models[name] = functools.partial(_of_one, layer, shape)
    for name, (layer, count) in _OF_SEVERAL.items():
        models[name] = functools.partial(_of_several, layer, count)
    models["Embedding"] = _embedding
    models["MultiHeadAttention"] = _self_attention
    for name in sorted(models):
        yield OpCase(name, "f32", functools.partial(_load, models[name]))


def _of_one(layer: _Layer, shape: tuple[int, ...]) -> keras.Model:
    return keras.Sequential([keras.Input(shape), layer()])


def _of_several(layer: _Layer, count: int) -> keras.Model:
    x = keras.Input(_STEPS)
    return keras.Model(x, layer()([x * (number + 1) for number in range(count)]))


def _embedding() -> keras.Model:
    return keras.Sequential([keras.Input((6,), dtype="int32"), layers.Embedding(2, 4)])


def _self_attention() -> keras.Model:
    x = keras.Input(_STEPS)
    return keras.Model(x, layers.MultiHeadAttention(2, 4)(x, x))


def _load(make: Callable[[], keras.Model], out: Path) -> ImportedModel:
    keras.utils.set_random_seed(0)
    model = make()
    rng = np.random.default_rng(0)
    (tensor,) = model.inputs
    shape = (1, *tensor.shape[1:])
    if tensor.dtype == "int32":
        x = rng.integers(0, 2, shape).astype(np.int32)
    else:
        x = rng.standard_normal(shape).astype(np.float32)
    found = spec.ModelSpec(model, ((x,),), spec.Tolerance(1e-4, 1e-4))
    return frontend.import_spec(found, f"{__file__}:cases", ImportOptions(), out)
