"""Writes a perceptron as an .onnx file: f32 [batch, 16] to f32 [batch, 4]; random weights."""

from __future__ import annotations

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(0)
shapes = {"w0": (16, 32), "b0": (32,), "w1": (32, 4), "b1": (4,)}
weights = [
    numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
    for name, shape in shapes.items()
]
graph = helper.make_graph(
    [
        helper.make_node("Gemm", ["features", "w0", "b0"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "w1", "b1"], ["scores"]),
    ],
    "perceptron",
    [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", 16])],
    [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 4])],
    weights,
)
opset = [helper.make_opsetid("", 18)]
onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), sys.argv[1])
