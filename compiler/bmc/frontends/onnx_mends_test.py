"""Ops of ONNX that are written with others, of opsets that onnxruntime knows, and of newer ones.

IREE's host runtime must agree with onnxruntime, or with the standard's reference.
"""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.dtype import Array
from bmc.frontends import onnx_bitcasts, onnx_functions, onnx_rewrites

_RNG = np.random.default_rng(0)
_CASES = """rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 3, 4)).astype(np.float32)
    i = np.array([-8, 4, -1, 2**31 - 1, -(2**31), 3, 2, 1], np.int32)
    n = np.array([32, 33, 100, 3, -1, -(2**31), 0, 31], np.int32)
    b = rng.integers(-128, 128, (2, 3, 4)).astype(np.int8)
    return Cases(((x, i, n, b),), (WANTED))"""


def _model(opset: int, nodes: list[Any], weights: dict[str, Array]) -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    inputs = [
        info("x", TensorProto.FLOAT, [2, 3, 4]),
        info("i", TensorProto.INT32, [8]),
        info("n", TensorProto.INT32, [8]),
        info("b", TensorProto.INT8, [2, 3, 4]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        inputs,
        [info(name, _WHOLE.get(name, TensorProto.FLOAT), None) for n in nodes for name in n.output],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


_WHOLE = {
    "bits": TensorProto.INT32,
    "bytes": TensorProto.UINT8,
    "left": TensorProto.INT32,
    "q": TensorProto.INT8,
    "right": TensorProto.INT32,
    "steps": TensorProto.UINT16,
}


def _older() -> onnx.ModelProto:
    make = helper.make_node
    weights = {
        "places": np.array([[[0, -1, 2, 0]], [[1, 1, 1, -3]]]),
        "more": _RNG.standard_normal((2, 1, 4)).astype(np.float32),
        "v": np.array([1, -2, 3, 0.5], np.float32),
        "w": np.array([1, 2, 0.5], np.float32),
        "u": np.array([1, 2, 3], np.float32),
        "scales": np.abs(_RNG.standard_normal((2, 2, 4))).astype(np.float32),
        "starts": np.arange(16, dtype=np.uint16).reshape(2, 2, 4),
        "scores": _RNG.standard_normal((4, 3)).astype(np.float32),
        "labels": np.array([0, 1, 2, 1]),
        "c": _RNG.integers(-128, 128, (2, 4, 3)).astype(np.int8),
        "s": np.array(0.0066, np.float32),
        "t": np.array(0.00705, np.float32),
        "r": np.array(0.0107, np.float32),
        "zero": np.array(-14, np.int8),
    }  # fmt: skip
    nodes = [
        make("ScatterElements", ["x", "places", "more"], ["most"], axis=1, reduction="max"),
        make("MatMul", ["x", "v"], ["after"]),
        make("MatMul", ["u", "x"], ["before"]),
        make("SoftmaxCrossEntropyLoss", ["scores", "labels", "w"], ["loss"]),
        make("QLinearMatMul", ["b", "s", "zero", "c", "t", "zero", "r", "zero"], ["q"]),
        make("QuantizeLinear", ["x", "scales", "starts"], ["steps"], axis=1, block_size=2),
        make("DequantizeLinear", ["steps", "scales", "starts"], ["again"], axis=1, block_size=2),
    ]
    return _model(21, nodes, weights)


def _newer() -> onnx.ModelProto:
    make = helper.make_node
    weights = {
        "starts": np.array([2, 3]),
        "more": _RNG.standard_normal((2, 2, 4)).astype(np.float32),
    }
    nodes = [
        make("BitCast", ["x"], ["bits"], to=TensorProto.INT32),
        make("BitCast", ["b"], ["bytes"], to=TensorProto.UINT8),
        make("BitShift", ["i", "n"], ["left"], direction="LEFT"),
        make("BitShift", ["i", "n"], ["right"], direction="RIGHT"),
        make("TensorScatter", ["x", "more", "starts"], ["cache"], mode="circular"),
        make("LinearAttention", ["x", "x", "x"], ["mixed", "state"], q_num_heads=2, kv_num_heads=2,
             update_rule="linear"),
        make("SwiGLU", ["x", "x"], ["gated"]),
    ]  # fmt: skip
    return _model(28, nodes, weights)


def _cases(model: onnx.ModelProto) -> str:
    names = [output.name for output in model.graph.output]
    wanted = ["Exact()," if name in _WHOLE else "Tolerance(1e-5, 1e-5)," for name in names]
    return _CASES.replace("WANTED", "".join(wanted))


class MendsTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_ops_that_onnxruntime_knows(self) -> None:
        self._agrees(_older())
        with mock.patch.object(onnx_functions, "expanded", side_effect=lambda each: each):
            self._rejects("import-disagrees", "output loss", _only(3))
        with mock.patch.object(onnx_rewrites, "apply"):
            self._rejects("import-disagrees", "output q", _only(4))
            for index in (0, 1, 2, 5):
                self._rejects("op-rejected", "cannot compile", _only(index))

    def test_ops_that_onnxruntime_lacks(self) -> None:
        self._agrees(_newer())
        with mock.patch.object(onnx_bitcasts, "lower"):
            self._rejects("op-rejected", "cannot compile op 'BitCast'", _newer())

    def _agrees(self, model: onnx.ModelProto) -> None:
        self.agrees(self.load(model, _cases(model)))

    def _rejects(self, kind: str, part: str, model: onnx.ModelProto) -> None:
        self.rejects(kind, part, data=model, cases=_cases(model))


def _only(index: int) -> onnx.ModelProto:
    """Returns the older model with one of its nodes."""
    model = _older()
    node = model.graph.node[index]
    outputs = [each for each in model.graph.output if each.name in node.output]
    for field, values in ((model.graph.node, [node]), (model.graph.output, outputs)):
        kept = [type(value).FromString(value.SerializeToString()) for value in values]
        del field[:]
        field.extend(kept)
    return model


if __name__ == "__main__":
    unittest.main()
