"""Operators as in ONNX's own tests; the expected outputs are onnxruntime's."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from bmc.spec import Exact, ModelFile, ModelSpec


def pad_reflect() -> ModelSpec:
    """test_operator_pad: f32 [1, 1, 2, 4], reflected on three sides."""
    graph = helper.make_graph(
        [helper.make_node("Pad", ["x"], ["y"], mode="reflect", pads=[0, 0, 0, 2, 0, 0, 1, 3])],
        "pad",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 3, 9])],
    )
    opset = [helper.make_opsetid("", 6)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=3)
    x = np.random.default_rng(0).standard_normal((1, 1, 2, 4)).astype(np.float32)
    file = ModelFile(".onnx", model.SerializeToString())
    return ModelSpec(module=file, cases=((x,),), tolerance=Exact())
