"""TensorFlow's float ops: its own kernels, XLA's, and its own in f64."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from subject import Subject

from bmc.dtype import Array

_IMAGE, _ROWS = (1, 12, 12, 16), (8, 128)


def _weight(x: Any, *shape: int) -> Any:
    array = np.random.default_rng(1).standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))
    return tf.constant(array, x.dtype)


# Op of a graph, the shape of its input, and a function. All that only move or choose values are left out.
_OPS: tuple[tuple[str, tuple[int, ...], Callable[[Any], Any]], ...] = (
    *((op, _ROWS, getattr(tf.math, op.lower())) for op in (
        "Cos", "Erf", "Exp", "Expm1", "Reciprocal", "Sigmoid", "Sin", "Tanh",
    )),
    *((op, _ROWS, lambda x, op=op: getattr(tf.math, op.lower())(tf.abs(x) + 0.1)) for op in (
        "Log", "Log1p", "Rsqrt", "Sqrt",
    )),
    *((op, _ROWS, getattr(tf.nn, op.lower())) for op in ("Elu", "Selu", "Softplus", "Softsign", "Softmax")),
    ("LogSoftmax", _ROWS, tf.nn.log_softmax),
    ("Pow", _ROWS, lambda x: tf.pow(tf.abs(x), tf.cast(2.5, x.dtype))),
    ("RealDiv", _ROWS, lambda x: x / (_weight(x, 128) + 3)),
    ("Cumsum", _ROWS, lambda x: tf.cumsum(x, 1)),
    ("Mean", _ROWS, lambda x: tf.reduce_mean(x, 1)),
    ("Sum", _ROWS, lambda x: tf.reduce_sum(x, 1)),
    ("Prod", (8, 6), lambda x: tf.reduce_prod(x, 1)),
    ("AvgPool", _IMAGE, lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME")),
    ("Conv2D", _IMAGE, lambda x: tf.nn.conv2d(x, _weight(x, 3, 3, 16, 32), 1, "SAME")),
    ("DepthwiseConv2dNative", _IMAGE, lambda x: tf.nn.depthwise_conv2d(x, _weight(x, 3, 3, 16, 1), (1, 1, 1, 1),
                                                                       "SAME")),
    ("Conv2DBackpropInput", _IMAGE, lambda x: tf.nn.conv2d_transpose(x, _weight(x, 3, 3, 8, 16), (1, 24, 24, 8), 2)),
    ("MatMul", _ROWS, lambda x: tf.matmul(x, _weight(x, 128, 64))),
    ("BatchMatMulV2", (4, 8, 128), lambda x: tf.matmul(x, x, transpose_b=True)),
    ("ResizeBilinear", _IMAGE, lambda x: tf.cast(tf.image.resize(x, (17, 19)), x.dtype)),
)  # fmt: skip


def subjects() -> Iterator[Subject]:
    """Yields every op of the table."""
    for op, shape, function in _OPS:
        compiled = tf.function(function, jit_compile=True)
        wide = functools.partial(_run, function, np.float64)
        yield Subject(
            op,
            shape,
            (*(functools.partial(_run, f, np.float32) for f in (function, compiled)), wide),
        )


def _run(function: Callable[[Any], Any], dtype: Any, x: Array) -> Array:
    result: Array = function(tf.constant(x, dtype)).numpy()
    return result
