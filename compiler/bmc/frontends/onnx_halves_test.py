"""Imports ONNX reductions of half floats that overflow; IREE must agree with onnxruntime."""

from __future__ import annotations

from unittest import main, mock

import numpy as np
import onnx
import support
from onnx import helper, numpy_helper

from bmc.frontends import onnx_halves

_SHAPE = [1, 2, 4, 4]
# Op -> its attributes, and what its numbers are multiplied with.
_OPS: dict[str, tuple[dict[str, object], int]] = {
    "AveragePool": ({"kernel_shape": [3, 3]}, 10_000),
    "GlobalAveragePool": ({}, 6_000),
    "LpNormalization": ({}, 300),
    "ReduceL2": ({}, 100),
    "ReduceLogSumExp": ({}, 700),
    "ReduceMean": ({}, 3_000),
}


def _model(op: str, attributes: dict[str, object]) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node(op, ["x"], ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT16, _SHAPE)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT16, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class OnnxHalvesTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_do_not_overflow(self) -> None:
        for op, (attributes, factor) in _OPS.items():
            image = f"np.linspace(0.5, 1.5, 32, dtype=np.float32).reshape({_SHAPE}) * {factor}"
            cases = f"return Cases(((({image}).astype(np.float16),),), Tolerance(1e-3, 2e-3))"
            with self.subTest(op):
                data = _model(op, attributes)
                # A half float of this size plus one is often the same.
                self.assertIn(support.AGREES, self.load(data, cases).second_reference)
                with mock.patch.object(onnx_halves, "apply", return_value=False):
                    self.rejects("import-disagrees", "of case 0", data=data, cases=cases)

    def test_in_a_branch(self) -> None:
        branch = helper.make_graph(
            [helper.make_node("ReduceMean", ["x"], ["m"])],
            "branch",
            [],
            [helper.make_tensor_value_info("m", onnx.TensorProto.FLOAT16, None)],
        )
        model = _model("If", {"then_branch": branch, "else_branch": branch})
        model.graph.node[0].input[0] = "b"
        model.graph.initializer.append(numpy_helper.from_array(np.array(True), "b"))
        self.assertTrue(onnx_halves.apply(onnx.shape_inference.infer_shapes(model)))

    def test_floats_stay(self) -> None:
        model = _model("ReduceMean", {})
        model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        self.assertFalse(onnx_halves.apply(model))


if __name__ == "__main__":
    main()
