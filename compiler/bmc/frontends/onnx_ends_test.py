"""Imports a graph that takes and returns bfloat16; the expected outputs are onnxruntime's."""

from __future__ import annotations

import unittest

import ml_dtypes
import numpy as np
import onnx
import support
from onnx import TensorProto, helper

_BF16, _F32 = TensorProto.BFLOAT16, TensorProto.FLOAT
_CASES = """import ml_dtypes
    x = np.array([[1.5, -2.0, 3e38], [np.nan, 1e-39, -np.inf]]).astype(ml_dtypes.bfloat16)
    return Cases(((x, np.full((2, 3), 0.0078125, np.float32)),), Exact())"""


def _model() -> onnx.ModelProto:
    make, info = helper.make_node, helper.make_tensor_value_info
    nodes = [
        make("Transpose", ["x"], ["turned"]),
        make("Cast", ["x"], ["wide"], to=_F32),
        make("Add", ["wide", "y"], ["sum"]),
        make("Cast", ["sum"], ["narrow"], to=_BF16),
    ]
    inputs = [info("x", _BF16, [2, 3]), info("y", _F32, [2, 3])]
    outputs = [
        info("turned", _BF16, [3, 2]),
        info("sum", _F32, [2, 3]),
        info("narrow", _BF16, [2, 3]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


class Bf16Test(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_inputs_and_outputs(self) -> None:
        model = self.load(_model(), _CASES)
        self.agrees(model)
        self.describes(
            model,
            "x: 2x3xbf16",
            "y: 2x3xf32",
            "turned: 3x2xbf16",
            "sum: 2x3xf32",
            "narrow: 2x3xbf16",
        )
        turned, total, narrow = (array.astype(np.float32) for array in model.golden.outputs[0])
        np.testing.assert_array_equal(turned, model.golden.inputs[0][0].T.astype(np.float32))
        rounded = total.astype(ml_dtypes.bfloat16)
        np.testing.assert_array_equal(narrow, rounded.astype(np.float32))


if __name__ == "__main__":
    unittest.main()
