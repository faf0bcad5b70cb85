"""Imports PRelus of old ONNX files; IREE's host runtime must agree with onnxruntime."""

from __future__ import annotations

from unittest import main, mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.frontends import onnx_slopes


def _model() -> onnx.ModelProto:
    """Returns PRelus with a slope for each channel, as a constant and as an input, and with one for all."""
    tensor = helper.make_tensor_value_info
    names = ("constant", "given", "one")
    graph = helper.make_graph(
        [helper.make_node("PRelu", ["x", name], [f"y_{name}"]) for name in names],
        "g",
        [tensor("x", TensorProto.FLOAT, [2, 3, 4, 5]), tensor("given", TensorProto.FLOAT, [3])],
        [tensor(f"y_{name}", TensorProto.FLOAT, None) for name in names],
        [
            numpy_helper.from_array(np.array([0.1, -2, 3], np.float32), "constant"),
            numpy_helper.from_array(np.array([0.5], np.float32), "one"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)], ir_version=4)


class SlopesTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_are_right(self) -> None:
        data = _model()
        self.agrees(self.load(data))
        with mock.patch.object(onnx_slopes, "apply"):
            self.rejects("op-rejected", "cannot compile this part", data=data)


if __name__ == "__main__":
    main()
