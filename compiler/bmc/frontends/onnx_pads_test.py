"""Tests quantized convolutions with more padding on one side; IREE's host runtime must agree with onnxruntime."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.frontends import onnx_pads


def _model(op: str, pads: list[int]) -> Any:
    rng = np.random.default_rng(0)
    constants = {
        "xs": np.float32(0.02), "xz": np.uint8(113), "w": rng.integers(0, 256, (4, 3, 3, 3)).astype(np.uint8),
        "ws": np.float32(0.0021), "wz": np.uint8(131), "ys": np.float32(0.05), "yz": np.uint8(90),
        "b": rng.integers(-500, 500, 4).astype(np.int32),
    }  # fmt: skip
    names, kind = (
        ("x xs xz w ws wz ys yz b", TensorProto.UINT8)
        if op == "QLinearConv"
        else ("x w xz wz", TensorProto.INT32)
    )
    node = helper.make_node(op, names.split(), ["y"], pads=pads, strides=[2, 1])
    height, width = (
        (6 + before + behind - 3) // stride + 1
        for before, behind, stride in zip(pads[:2], pads[2:], (2, 1), strict=True)
    )
    graph = helper.make_graph(
        [node],
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 3, 6, 6])],
        [helper.make_tensor_value_info("y", kind, [1, 4, height, width])],
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
            for pads in ([1, 1, 0, 0], [0, 1, 2, 1]):
                with self.subTest(op, pads=pads):
                    model = self.load(_model(op, pads), f"return Cases((({image},),), Exact())")
                    self.agrees(model)

    def test_even_ones_stay_as_they_are(self) -> None:
        model = _model("QLinearConv", [1, 1, 1, 1])
        before = model.SerializeToString()
        onnx_pads.apply(model)
        self.assertEqual(model.SerializeToString(), before)


if __name__ == "__main__":
    unittest.main()
