"""TensorFlow Lite's ops, each converted from TensorFlow, in float and in int8."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from op_case import OpCase

from bmc import spec
from bmc.artifacts import ImportedModel
from bmc.frontends import quiet, tflite
from bmc.frontends.options import ImportOptions

IMAGE = (1, 8, 8, 4)


def _weight(*shape: int) -> Any:
    rng = np.random.default_rng(0)
    return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


# The forms of TensorFlow 1, which converters still write.
_nearest = tf.compat.v1.image.resize_nearest_neighbor

# Op name in TFLite's schema, with its form if there are several -> the TensorFlow function it is converted from, of one
# image.
OPS: dict[str, Callable[[Any], Any]] = {
    "ABS": tf.abs,
    "ADD": lambda x: x + tf.reverse(x, [1]) * 0.5,
    "ARG_MAX": lambda x: tf.argmax(x, 3, tf.int32),
    "ARG_MIN": lambda x: tf.argmin(x, 3, tf.int32),
    "AVERAGE_POOL_2D": lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID"),
    "BATCH_MATMUL": lambda x: tf.matmul(x, tf.transpose(x, [0, 1, 3, 2])),
    "BATCH_TO_SPACE_ND": lambda x: tf.batch_to_space(
        tf.tile(x, [4, 1, 1, 1]), [2, 2], [[0, 0]] * 2
    ),
    "BROADCAST_TO": lambda x: tf.broadcast_to(x[:, :1], IMAGE) + x,
    "CAST": lambda x: tf.cast(tf.cast(x * 10.0, tf.int32), tf.float32),
    "CEIL": tf.math.ceil,
    "CONCATENATION": lambda x: tf.concat([x, tf.nn.relu(x)], 3),
    "CONV_2D": lambda x: tf.nn.conv2d(x, _weight(3, 3, 4, 8), 1, "SAME") + _weight(8),
    "COS": tf.cos,
    "CUMSUM": lambda x: tf.cumsum(x, 1),
    "DEPTHWISE_CONV_2D": lambda x: tf.nn.depthwise_conv2d(x, _weight(3, 3, 4, 1), [1] * 4, "SAME"),
    "DEPTH_TO_SPACE": lambda x: tf.nn.depth_to_space(x, 2),
    "DIV": lambda x: x / (tf.abs(x) + 1.0),
    "ELU": tf.nn.elu,
    "EQUAL": lambda x: tf.cast(tf.equal(tf.nn.relu(x), 0.0), tf.float32),
    "EXP": tf.exp,
    "EXPAND_DIMS": lambda x: tf.expand_dims(x, 0),
    "FLOOR": tf.floor,
    "FLOOR_DIV": lambda x: tf.math.floordiv(x, 0.25),
    "FLOOR_MOD": lambda x: tf.math.floormod(x, 0.25),
    "FULLY_CONNECTED": lambda x: tf.reshape(x, [16, 16]) @ _weight(16, 8) + _weight(8),
    "GATHER": lambda x: tf.gather(x, [3, 1, 0], axis=1),
    "GATHER_ND": lambda x: tf.gather_nd(x, [[0, 1, 2], [0, 3, 3]]),
    "GELU": tf.nn.gelu,
    "GREATER": lambda x: tf.where(x > 0.3, x, tf.zeros_like(x)),
    "HARD_SWISH": lambda x: x * tf.nn.relu6(x + 3.0) * (1.0 / 6.0),
    "L2_NORMALIZATION": lambda x: tf.nn.l2_normalize(x, 3),
    "LEAKY_RELU": tf.nn.leaky_relu,
    "LOG": lambda x: tf.math.log(tf.abs(x) + 1.0),
    "LOGICAL_AND": lambda x: tf.cast(tf.logical_and(x > 0.0, x < 1.0), tf.float32),
    "LOGISTIC": tf.sigmoid,
    "LOG_SOFTMAX": tf.nn.log_softmax,
    "MAXIMUM": lambda x: tf.maximum(x, tf.reverse(x, [2])),
    "MAX_POOL_2D": lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
    "MEAN": lambda x: tf.reduce_mean(x, [1, 2]),
    "MINIMUM": lambda x: tf.minimum(x, tf.reverse(x, [2])),
    "MIRROR_PAD": lambda x: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"),
    "MUL": lambda x: x * tf.reverse(x, [1]),
    "NEG": tf.negative,
    "ONE_HOT": lambda x: tf.one_hot(tf.argmax(x, 3, tf.int32), 4),
    "PACK": lambda x: tf.stack([x, tf.nn.relu(x)], 1),
    "PAD": lambda x: tf.pad(x, [[0, 0], [1, 1], [2, 2], [0, 0]]),
    "POW": lambda x: tf.pow(tf.abs(x) + 0.1, 1.5),
    "PRELU": lambda x: tf.nn.relu(x) + _weight(4) * (x - tf.abs(x)) * 0.5,
    "REDUCE_MAX": lambda x: tf.reduce_max(x, 3),
    "REDUCE_MIN": lambda x: tf.reduce_min(x, 3),
    "REDUCE_PROD": lambda x: tf.reduce_prod(x, 3),
    "RELU": tf.nn.relu,
    "RELU6": tf.nn.relu6,
    "RESHAPE": lambda x: tf.reshape(x, [4, 64]),
    "RESIZE_BILINEAR": lambda x: tf.image.resize(x, (16, 16)),
    "RESIZE_NEAREST_NEIGHBOR": lambda x: tf.image.resize(x, (16, 16), "nearest"),
    "RESIZE_NEAREST_NEIGHBOR (align_corners)": lambda x: _nearest(x, (15, 15), align_corners=True),
    "RESIZE_NEAREST_NEIGHBOR (legacy)": lambda x: _nearest(x, (16, 16)),
    "RESIZE_NEAREST_NEIGHBOR (legacy, 8 to 11)": lambda x: _nearest(x, (11, 11)),
    "RESIZE_NEAREST_NEIGHBOR (legacy, 8 to 3)": lambda x: _nearest(x, (3, 3)),
    "REVERSE_V2": lambda x: tf.reverse(x, [1]),
    "ROUND": tf.round,
    "RSQRT": lambda x: tf.math.rsqrt(tf.abs(x) + 0.1),
    "SELECT_V2": lambda x: tf.where(x > 0.0, x, x * 2.0),
    "SIGN": tf.sign,
    "SIN": tf.sin,
    "SLICE": lambda x: tf.slice(x, [0, 1, 2, 0], [1, 4, 4, 4]),
    "SOFTMAX": tf.nn.softmax,
    "SPACE_TO_BATCH_ND": lambda x: tf.space_to_batch(x, [2, 2], [[0, 0]] * 2),
    "SPACE_TO_DEPTH": lambda x: tf.nn.space_to_depth(x, 2),
    "SPLIT": lambda x: tf.split(x, 2, 3)[1],
    "SPLIT_V": lambda x: tf.split(x, [1, 3], 3)[1],
    "SQRT": lambda x: tf.sqrt(tf.abs(x)),
    "SQUARE": tf.square,
    "SQUARED_DIFFERENCE": lambda x: tf.math.squared_difference(x, tf.reverse(x, [1])),
    "SQUEEZE": lambda x: tf.squeeze(x, 0),
    "STRIDED_SLICE": lambda x: x[:, ::2, 1:7:3],
    "SUB": lambda x: x - tf.reverse(x, [1]),
    "SUM": lambda x: tf.reduce_sum(x, 3),
    "TANH": tf.tanh,
    "TILE": lambda x: tf.tile(x, [1, 2, 1, 3]),
    "TOPK_V2": lambda x: tf.math.top_k(x, 2)[0],
    "TRANSPOSE": lambda x: tf.transpose(x, [0, 3, 1, 2]),
    "TRANSPOSE_CONV": lambda x: tf.nn.conv2d_transpose(x, _weight(3, 3, 8, 4), (1, 16, 16, 8), 2),
    "UNPACK": lambda x: tf.unstack(x, axis=1)[2],
    "WHERE": lambda x: tf.where(x[0, 0, :, 0] > 0.0),
}


def cases() -> Iterator[OpCase]:
    """Yields every op twice: float, and int8 with int8 at the border."""
    for op, function in OPS.items():
        yield OpCase(op, "float", functools.partial(_load, op, function, False))
        yield OpCase(op, "int8", functools.partial(_load, op, function, True))


def convert(function: Callable[[Any], Any], int8: bool = False) -> tuple[bytes, bool]:
    """Returns a function of one image as a .tflite file, and whether its result is in float."""
    signature = [tf.TensorSpec(IMAGE, tf.float32)]
    traced = tf.function(function, input_signature=signature).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced])
    if int8:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([sample] for sample in _samples())
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    with quiet.native(), quiet.python():
        data = bytes(converter.convert())
    return data, not int8 and not traced.outputs[0].dtype.is_integer


def _samples() -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(IMAGE).astype(np.float32) for _ in range(20)]


def _load(op: str, function: Callable[[Any], Any], int8: bool, out: Path) -> ImportedModel:
    data, is_float = convert(function, int8)
    model = spec.ModelSpec(
        module=spec.ModelFile(".tflite", data),
        cases=((_samples()[0],),),
        tolerance=spec.Tolerance(1e-5, 1e-5) if is_float else spec.Exact(),
    )
    return tflite.import_spec(model, f"{op.lower()}.tflite", ImportOptions(), out)
