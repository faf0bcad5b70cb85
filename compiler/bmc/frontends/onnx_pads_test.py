"""Tests quantized convolutions with more padding on one side; IREE's host runtime must agree with onnxruntime."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import support
from onnx import TensorProto, helper, numpy_helper


def _model(op: str, **attributes: Any) -> Any:
    rng = np.random.default_rng(0)
    constants = {
        "xs": np.float32(0.02), "xz": np.uint8(113), "w": rng.integers(0, 256, (4, 3, 3, 2)).astype(np.uint8),
        "ws": np.float32(0.0021), "wz": np.uint8(131), "ys": np.float32(0.05), "yz": np.uint8(90),
        "b": rng.integers(-500, 500, 4).astype(np.int32),
    }  # fmt: skip
    names, kind = (
        ("x xs xz w ws wz ys yz b", TensorProto.UINT8)
        if op == "QLinearConv"
        else ("x w xz wz", TensorProto.INT32)
    )
    node = helper.make_node(op, names.split(), ["y"], strides=[2, 1], **attributes)
    graph = helper.make_graph(
        [node],
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 3, 6, 6])],
        [helper.make_tensor_value_info("y", kind, None)],
        [
            numpy_helper.from_array(np.asarray(constants[name]), name)
            for name in names.split()
            if name != "x"
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class OnnxPadsTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_are_right(self) -> None:
        image = "np.random.default_rng(1).integers(0, 256, (1, 3, 6, 6)).astype(np.uint8)"
        for op in ("QLinearConv", "ConvInteger"):
            for attributes in (
                {"pads": [1, 1, 0, 0]},
                {"pads": [0, 1, 2, 1]},
                {"pads": [1, 1, 1, 1]},
                {"auto_pad": "SAME_LOWER"},
                {"auto_pad": "SAME_UPPER"},
                {"auto_pad": "VALID"},
            ):
                with self.subTest(op, **attributes):
                    model = self.load(
                        _model(op, **attributes), f"return Cases((({image},),), Exact())"
                    )
                    self.agrees(model)


if __name__ == "__main__":
    unittest.main()
