"""TensorFlow Lite's ops and their options, as functions from which TensorFlow's converter makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from bmc.frontends import quiet

IMAGE = (1, 8, 8, 4)


def _weight(*shape: int) -> Any:
    rng = np.random.default_rng(0)
    return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


def _whole(x: Any) -> Any:
    return tf.cast(x * 10.0, tf.int32)


# The forms of TensorFlow 1, which converters still write.
_nearest = tf.compat.v1.image.resize_nearest_neighbor

# Name in TFLite's schema, with its option in parentheses -> the TensorFlow function it is converted from, of one image.
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
    "ADD (broadcast)": lambda x: x + x[:, :1, :1],
    "ADD (fused RELU)": lambda x: tf.nn.relu(x + tf.reverse(x, [1])),
    "ADD (fused RELU6)": lambda x: tf.nn.relu6(x + tf.reverse(x, [1])),
    "ADD_N": lambda x: tf.add_n([x, x * 2.0, tf.reverse(x, [1])]),
    "ARG_MAX (int64)": lambda x: tf.argmax(x, 1),
    "ATAN2": lambda x: tf.atan2(x, tf.reverse(x, [1])),
    "AVERAGE_POOL_2D (SAME)": lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME"),
    "BATCH_MATMUL (adj_y)": lambda x: tf.matmul(x, x, transpose_b=True),
    "BITCAST": lambda x: tf.bitcast(x, tf.int32),
    "BITWISE_XOR": lambda x: tf.bitwise.bitwise_xor(_whole(x), 5),
    "BROADCAST_ARGS": lambda x: tf.broadcast_dynamic_shape(tf.shape(x), [1, 1, 1, 4]),
    "BUCKETIZE": lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[-1.0, 0.0, 1.0]),
    "CAST (bool)": lambda x: tf.cast(tf.cast(x, tf.bool), tf.float32),
    "CAST (int8)": lambda x: tf.cast(tf.cast(x * 10.0, tf.int8), tf.float32),
    "COMPLEX_ABS": lambda x: tf.abs(tf.complex(x, x * 2.0)),
    "CONCATENATION (axis 1)": lambda x: tf.concat([x, tf.nn.relu(x)], 1),
    "CONV_2D (1x1)": lambda x: tf.nn.conv2d(x, _weight(1, 1, 4, 8), 1, "VALID") + _weight(8),
    "CONV_2D (dilated)": lambda x: tf.nn.conv2d(x, _weight(3, 3, 4, 8), 1, "SAME", dilations=2) + _weight(8),
    "CONV_2D (fused RELU)": lambda x: tf.nn.relu(tf.nn.conv2d(x, _weight(3, 3, 4, 8), 1, "SAME") + _weight(8)),
    "CONV_2D (fused RELU6)": lambda x: tf.nn.relu6(tf.nn.conv2d(x, _weight(3, 3, 4, 8), 1, "SAME") + _weight(8)),
    "CONV_2D (grouped)": lambda x: tf.nn.conv2d(x, _weight(3, 3, 2, 8), 1, "SAME") + _weight(8),
    "CONV_2D (strided)": lambda x: tf.nn.conv2d(x, _weight(3, 3, 4, 8), 2, "SAME") + _weight(8),
    "CONV_2D (VALID)": lambda x: tf.nn.conv2d(x, _weight(3, 3, 4, 8), 1, "VALID") + _weight(8),
    "CONV_3D": lambda x: tf.nn.conv3d(x[..., None], _weight(3, 3, 2, 1, 4), [1] * 5, "SAME"),
    "CONV_3D_TRANSPOSE": lambda x: tf.nn.conv3d_transpose(
        x[..., None], _weight(2, 2, 2, 3, 1), (1, 16, 16, 8, 3), 2
    ),
    "CUMSUM (exclusive)": lambda x: tf.cumsum(x, 1, exclusive=True),
    "CUMSUM (reverse)": lambda x: tf.cumsum(x, 2, reverse=True),
    "DEPTHWISE_CONV_2D (dilated)": lambda x: tf.nn.depthwise_conv2d(
        x, _weight(3, 3, 4, 1), [1] * 4, "SAME", dilations=[2, 2]
    ),
    "DEPTHWISE_CONV_2D (multiplier 2)": lambda x: tf.nn.depthwise_conv2d(
        x, _weight(3, 3, 4, 2), [1] * 4, "SAME"
    ),
    "DEPTHWISE_CONV_2D (strided)": lambda x: tf.nn.depthwise_conv2d(
        x, _weight(3, 3, 4, 1), [1, 2, 2, 1], "SAME"
    ),
    "DILATE": lambda x: tf.raw_ops.Dilation2D(
        input=x, filter=_weight(3, 3, 4), strides=[1] * 4, rates=[1] * 4, padding="SAME"
    ),
    "DYNAMIC_UPDATE_SLICE": lambda x: tf.tensor_scatter_nd_update(x, [[0, 1]], x[:, 0]),
    "EMBEDDING_LOOKUP": lambda x: tf.nn.embedding_lookup(_weight(8, 4), tf.argmax(x[0, 0], 0, tf.int32)),
    "FILL": lambda x: tf.fill([2, 3], x[0, 0, 0, 0]),
    "FULLY_CONNECTED (fused RELU)": lambda x: tf.nn.relu(
        tf.reshape(x, [16, 16]) @ _weight(16, 8) + _weight(8)
    ),
    "FULLY_CONNECTED (no bias)": lambda x: tf.reshape(x, [16, 16]) @ _weight(16, 8),
    "GATHER (batch_dims)": lambda x: tf.gather(x[0], [[3, 1]] * 8, axis=1, batch_dims=1),
    "GREATER_EQUAL": lambda x: tf.cast(x >= 0.3, tf.float32),
    "HARD_SWISH (fused)": lambda x: tf.keras.activations.hard_swish(x),
    "IF": lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x - 1.0),
    "IMAG": lambda x: tf.math.imag(tf.complex(x, x * 2.0)),
    "L2_POOL_2D": lambda x: tf.sqrt(tf.nn.avg_pool2d(tf.square(x), 2, 2, "VALID")),
    "LEAKY_RELU (0.2 to 1)": lambda x: tf.nn.leaky_relu(x, 0.7),
    "LESS": lambda x: tf.cast(x < 0.3, tf.float32),
    "LESS_EQUAL": lambda x: tf.cast(x <= 0.3, tf.float32),
    "LOCAL_RESPONSE_NORMALIZATION": lambda x: tf.nn.local_response_normalization(x, 2),
    "LOGICAL_NOT": lambda x: tf.cast(tf.logical_not(x > 0.0), tf.float32),
    "LOGICAL_OR": lambda x: tf.cast(tf.logical_or(x > 0.0, x < -1.0), tf.float32),
    "MATRIX_DIAG": lambda x: tf.linalg.diag(x),
    "MATRIX_SET_DIAG": lambda x: tf.linalg.set_diag(x, x[:, :, :4, 0]),
    "MAX_POOL_2D (SAME)": lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"),
    "MEAN (keep_dims)": lambda x: tf.reduce_mean(x, [3], keepdims=True),
    "MIRROR_PAD (SYMMETRIC)": lambda x: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "SYMMETRIC"),
    "MUL (broadcast)": lambda x: x * x[:, :1, :1],
    "NON_MAX_SUPPRESSION_V4": lambda x: tf.image.non_max_suppression_padded(
        tf.abs(x[0, 0]), x[0, 0, :, 0], 4, 0.5, 0.1, pad_to_max_output_size=True
    ),
    "NON_MAX_SUPPRESSION_V5": lambda x: tf.image.non_max_suppression_with_scores(
        tf.abs(x[0, 0]), x[0, 0, :, 0], 4, 0.5, 0.1, soft_nms_sigma=0.5
    ),
    "NOT_EQUAL": lambda x: tf.cast(tf.not_equal(tf.nn.relu(x), 0.0), tf.float32),
    "PACK (axis -1)": lambda x: tf.stack([x, tf.nn.relu(x)], -1),
    "PADV2": lambda x: tf.pad(x, [[0, 0], [1, 1], [2, 2], [0, 0]], constant_values=1.5),
    "RANGE": lambda x: tf.cast(tf.range(0, tf.size(x), 3), tf.float32) + x[0, 0, 0, 0],
    "RANK": lambda x: tf.cast(tf.rank(x), tf.float32) + x,
    "REAL": lambda x: tf.math.real(tf.complex(x, x * 2.0)),
    "REDUCE_ALL": lambda x: tf.reduce_all(x > -1.0, [3]),
    "REDUCE_ANY": lambda x: tf.reduce_any(x > 1.0, [3]),
    "RELU_0_TO_1": lambda x: tf.minimum(tf.maximum(x, 0.0), 1.0),
    "RELU_N1_TO_1": lambda x: tf.minimum(tf.maximum(x, -1.0), 1.0),
    "RESIZE_BILINEAR (align_corners)": lambda x: tf.compat.v1.image.resize_bilinear(
        x, (15, 15), align_corners=True
    ),
    "RESIZE_BILINEAR (down)": lambda x: tf.image.resize(x, (3, 5)),
    "RESIZE_BILINEAR (legacy)": lambda x: tf.compat.v1.image.resize_bilinear(x, (16, 16)),
    "REVERSE_SEQUENCE": lambda x: tf.reverse_sequence(x[0], [3, 8, 1, 2, 5, 6, 7, 4], 1, 0),
    "RFFT2D": lambda x: tf.abs(tf.signal.rfft2d(x[..., 0])),
    "RIGHT_SHIFT": lambda x: tf.bitwise.right_shift(_whole(x), 2),
    "SCATTER_ND": lambda x: tf.scatter_nd([[3], [1]], x[0, :2], [8, 8, 4]),
    "SEGMENT_SUM": lambda x: tf.math.segment_sum(x[0], [0, 0, 1, 1, 1, 2, 3, 3]),
    "SELECT": lambda x: tf.compat.v1.where(x > 0.0, x, x * 2.0),
    "SHAPE": lambda x: tf.cast(tf.shape(x), tf.float32) + x[0, 0, 0],
    "SLICE (to the end)": lambda x: tf.slice(x, [0, 3, 0, 1], [-1, -1, 4, -1]),
    "SOFTMAX (beta)": lambda x: tf.nn.softmax(x * 0.5),
    "SPARSE_TO_DENSE": lambda x: tf.compat.v1.sparse_to_dense([1, 3, 5], [8], x[0, 0, 0, :3]),
    "STRIDED_SLICE (masks)": lambda x: x[0, ..., 1:, tf.newaxis, ::-1],
    "SUM (several axes)": lambda x: tf.reduce_sum(x, [1, 2]),
    "TOPK_V2 (indices)": lambda x: tf.math.top_k(x, 3)[1],
    "TRANSPOSE (rank 5)": lambda x: tf.transpose(tf.reshape(x, [1, 2, 4, 8, 4]), [0, 3, 1, 4, 2]),
    "TRANSPOSE_CONV (VALID)": lambda x: tf.nn.conv2d_transpose(
        x, _weight(3, 3, 8, 4), (1, 17, 17, 8), 2, "VALID"
    ),
    "UNIQUE": lambda x: tf.unique(x[0, 0, 0])[1],
    "UNSORTED_SEGMENT_MAX": lambda x: tf.math.unsorted_segment_max(x[0], [3, 0, 1, 1, 2, 2, 3, 0], 4),
    "UNSORTED_SEGMENT_MIN": lambda x: tf.math.unsorted_segment_min(x[0], [3, 0, 1, 1, 2, 2, 3, 0], 4),
    "UNSORTED_SEGMENT_PROD": lambda x: tf.math.unsorted_segment_prod(x[0], [3, 0, 1, 1, 2, 2, 3, 0], 4),
    "UNSORTED_SEGMENT_SUM": lambda x: tf.math.unsorted_segment_sum(x[0], [3, 0, 1, 1, 2, 2, 3, 0], 4),
    "WHILE": lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 0.5), (0, x))[1],
    "ZEROS_LIKE": lambda x: tf.zeros_like(x) + x[:, :1],
}  # fmt: skip


# Dtype -> the converter's ops, and the type at the border.
_QUANTIZED = {
    "int8": (tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.int8),
    "uint8": (tf.lite.OpsSet.TFLITE_BUILTINS_INT8, tf.uint8),
    "int16": (
        tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8,
        tf.int16,
    ),
}
DTYPES = ("float32", *_QUANTIZED)


def convert(function: Callable[[Any], Any], dtype: str = "float32") -> tuple[bytes, bool]:
    """Returns a function of one image as a .tflite file, and whether its result is in float."""
    signature = [tf.TensorSpec(IMAGE, tf.float32)]
    traced = tf.function(function, input_signature=signature).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced])
    if dtype in _QUANTIZED:
        ops, border = _QUANTIZED[dtype]
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([sample] for sample in samples())
        converter.target_spec.supported_ops = [ops]
        converter.inference_input_type = converter.inference_output_type = border
    with quiet.native(), quiet.python():
        data = bytes(converter.convert())
    return data, dtype == "float32" and traced.outputs[0].dtype.is_floating


def samples() -> list[Any]:
    """Returns images to calibrate with; the first one is the case."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(IMAGE).astype(np.float32) for _ in range(20)]
