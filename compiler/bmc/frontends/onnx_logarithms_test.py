"""Imports ONNX models of logarithms; IREE's host runtime must agree with onnxruntime on large and small numbers."""

from __future__ import annotations

from unittest import main, mock

import onnx
import support
from onnx import TensorProto, helper

from bmc.frontends import onnx_logarithms

_CASES = """rows = [[144, 143, -1e4, 0.5], [-144, -150, -149, -300], [1e30, 0, 1, 2], [-np.inf] * 4]
    rows = np.array(rows, np.float32)
    numbers = np.array([-3e5, 7e20, -7e20, 1e-4, -0.01, 0.3, -2, 0, np.inf, -np.inf, 89, -89.3], np.float32)
    return Cases(((rows, numbers, np.maximum(abs(numbers), 1)),), Tolerance(1e-6, 1e-6))"""


def _model() -> onnx.ModelProto:
    nodes = [
        helper.make_node("ReduceLogSumExp", ["x"], ["a"], axes=[1], keepdims=0),
        helper.make_node("ReduceLogSumExp", ["x"], ["b"]),
        helper.make_node("Asinh", ["y"], ["c"]),
        helper.make_node("Acosh", ["z"], ["d"]),
        helper.make_node("Sinh", ["y"], ["e"]),
        helper.make_node("Cosh", ["y"], ["f"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in (("x", [4, 4]), ("y", [12]), ("z", [12]))
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "abcdef"],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class LogarithmsTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_are_right(self) -> None:
        self.agrees(self.load(_model(), _CASES))
        with mock.patch.object(onnx_logarithms, "rewrite", return_value=False):
            self.rejects("import-disagrees", "of case 0", data=_model(), cases=_CASES)


if __name__ == "__main__":
    main()
