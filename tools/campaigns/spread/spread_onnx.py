"""ONNX's float ops: onnxruntime at its levels of optimization, and ONNX's own reference in f64."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from subject import Subject

from bmc.dtype import Array

_LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
_IMAGE, _ROWS, _STEPS = (1, 16, 12, 12), (8, 128), (10, 2, 16)
_OPSET = 20


def _weight(*shape: int) -> Array:
    return np.random.default_rng(1).standard_normal(shape) / np.sqrt(np.prod(shape[1:]))


_CELL = {gates: (_weight(1, gates * 16, 16), _weight(1, gates * 16, 16)) for gates in (1, 3, 4)}
# Op, shape of its input, weights behind it, attributes. All that only move or choose values are left out.
_OPS: tuple[tuple[str, tuple[int, ...], tuple[Array, ...], dict[str, Any]], ...] = (
    *((op, _ROWS, (), {}) for op in (
        "Cos", "Elu", "Erf", "Exp", "HardSigmoid", "HardSwish", "LogSoftmax", "Mish", "Reciprocal", "Selu", "Sigmoid",
        "Sin", "Softmax", "Softplus", "Softsign", "Sqrt", "Tanh",
    )),
    *((op, _ROWS, (), {}) for op in ("ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMean", "ReduceSum",
                                     "ReduceSumSquare")),
    ("Gelu", _ROWS, (), {}),
    ("Gelu", _ROWS, (), {"approximate": "tanh"}),
    ("Pow", _ROWS, (np.float64(2.0),), {}),
    ("Div", _ROWS, (_weight(128) + 3,), {}),
    ("CumSum", _ROWS, (np.int64(1),), {}),
    ("AveragePool", _IMAGE, (), {"kernel_shape": [3, 3]}),
    ("GlobalAveragePool", _IMAGE, (), {}),
    ("LpNormalization", _ROWS, (), {}),
    ("BatchNormalization", _IMAGE, (_weight(16), _weight(16), _weight(16), abs(_weight(16)) + 0.1), {}),
    ("InstanceNormalization", _IMAGE, (_weight(16), _weight(16)), {}),
    ("LayerNormalization", _ROWS, (_weight(128), _weight(128)), {}),
    ("Conv", _IMAGE, (_weight(32, 16, 3, 3), _weight(32)), {"pads": [1, 1, 1, 1]}),
    ("Conv", (1, 64, 8, 8), (_weight(64, 64, 1, 1),), {}),
    ("Conv", _IMAGE, (_weight(16, 1, 3, 3),), {"group": 16}),
    ("ConvTranspose", _IMAGE, (_weight(16, 8, 3, 3),), {"strides": [2, 2]}),
    ("Gemm", _ROWS, (_weight(64, 128).T, _weight(64)), {}),
    ("MatMul", _ROWS, (_weight(64, 128).T,), {}),
    ("DFT", (1, 400, 1), (), {}),
    ("DFT", (1, 512, 1), (), {}),
    ("STFT", (1, 1600, 1), (np.int64(160), np.hanning(400)), {}),
    ("STFT", (1, 1600, 1), (np.int64(160), np.hanning(512)), {}),
    ("GRU", _STEPS, _CELL[3], {"hidden_size": 16}),
    ("LSTM", _STEPS, _CELL[4], {"hidden_size": 16}),
    ("RNN", _STEPS, _CELL[1], {"hidden_size": 16}),
)  # fmt: skip


def subjects() -> Iterator[Subject]:
    """Yields every op of the table."""
    for op, shape, weights, attributes in _OPS:
        single = _model(op, shape, weights, attributes, np.float32).SerializeToString()
        double = ReferenceEvaluator(_model(op, shape, weights, attributes, np.float64))
        levels = [functools.partial(_run, _session(single, level)) for level in _LEVELS]
        yield Subject(op, shape, (*levels, functools.partial(_exactly, double)))


def _model(op: str, shape: Any, weights: Any, attributes: Any, dtype: Any) -> Any:
    kind = TensorProto.FLOAT if dtype is np.float32 else TensorProto.DOUBLE
    arrays = [w if np.asarray(w).dtype.kind == "i" else np.asarray(w, dtype) for w in weights]
    names = [f"w{index}" for index in range(len(arrays))]
    return helper.make_model(
        helper.make_graph(
            [helper.make_node(op, ["x", *names], ["y"], **attributes)],
            "g",
            [helper.make_tensor_value_info("x", kind, shape)],
            [helper.make_tensor_value_info("y", kind, None)],
            [numpy_helper.from_array(np.asarray(a), n) for a, n in zip(arrays, names, strict=True)],
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=9,
    )


def _session(model: bytes, level: str) -> Any:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _run(session: Any, x: Array) -> Array:
    result: Array = session.run(None, {"x": x})[0]
    return result


def _exactly(reference: Any, x: Array) -> Array:
    result: Array = reference.run(None, {"x": x.astype(np.float64)})[0]
    return result
