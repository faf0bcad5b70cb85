"""Imports ops that the standard defines by other ops, files of old opsets, and ops that onnxruntime lacks."""

from __future__ import annotations

from unittest import main, mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.frontends import onnx_functions

_RANDOM = "np.random.default_rng(0).standard_normal((2, 3, 4, 8)).astype(np.float32)"
_CASES = f"return Cases((({_RANDOM},),), Tolerance(1e-5, 1e-4))"


def _model() -> onnx.ModelProto:
    make, info = helper.make_node, helper.make_tensor_value_info
    nodes = [
        make("Attention", ["x", "x", "x"], ["a"]),
        make("Attention", ["x", "x", "x"], ["b"], is_causal=1, scale=0.3, softcap=2.0),
        make("Swish", ["x"], ["c"]),
        make("CenterCropPad", ["x", "size"], ["d"], axes=[2, 3]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, [2, 3, 4, 8])],
        [info(name, TensorProto.FLOAT, None) for name in "abcd"],
        [numpy_helper.from_array(np.array([6, 5]), "size")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)


def _old() -> onnx.ModelProto:
    """A file of opset 6, of which onnxruntime has no average pool."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2])],
        "g",
        [info("x", TensorProto.FLOAT, [2, 3, 4, 8])],
        [info("y", TensorProto.FLOAT, [2, 3, 3, 7])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)], ir_version=3)


def _small_integers() -> onnx.ModelProto:
    """onnxruntime has no Min for int8."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Min", ["x", "y"], ["z"])],
        "g",
        [info(name, TensorProto.INT8, [4]) for name in "xy"],
        [info("z", TensorProto.INT8, [4])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


class FunctionsTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_are_right(self) -> None:
        self.agrees(self.load(_model(), _CASES))

    def test_without_it_iree_refuses(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        with mock.patch.object(onnx_functions, "expanded", side_effect=lambda model: model):
            self.rejects("op-rejected", "'Attention'", data=_model(), cases=_CASES)

    def test_one_in_a_branch_stays(self) -> None:
        make, info = helper.make_node, helper.make_tensor_value_info
        shape = [2, 3, 4, 8]
        bodies = [
            helper.make_graph(
                [make(op, ["x"] * count, ["b"])], op, [], [info("b", TensorProto.FLOAT, shape)]
            )
            for op, count in (("Attention", 3), ("Neg", 1))
        ]
        node = make("If", ["c"], ["y"], then_branch=bodies[0], else_branch=bodies[1])
        inputs = [info("x", TensorProto.FLOAT, shape), info("c", TensorProto.BOOL, [])]
        graph = helper.make_graph([node], "g", inputs, [info("y", TensorProto.FLOAT, shape)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])
        del model.graph.input[0]  # Nothing says what it is.
        kept = onnx_functions.expanded(model).graph.node[0].attribute
        self.assertIn("Attention", {a.g.node[0].op_type for a in kept})

    def test_a_file_of_an_old_opset(self) -> None:
        self.agrees(self.load(_old(), _CASES))

    def test_an_op_that_onnxruntime_lacks(self) -> None:
        given = "np.array([1, -2, 3, 127], np.int8), np.array([0, -1, 4, -128], np.int8)"
        model = self.load(_small_integers(), f"return Cases((({given}),), Exact())")
        self.assertEqual(model.golden.outputs[0][0].tolist(), [0, -2, 3, -128])
        self.agrees(model)


if __name__ == "__main__":
    main()
