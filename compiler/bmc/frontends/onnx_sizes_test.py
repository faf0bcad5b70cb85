"""Tests paddings that are computed from shapes; IREE's host runtime must agree with onnxruntime."""

from __future__ import annotations

import unittest

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.frontends import onnx_sizes


class OnnxSizesTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_a_reflection_behind_a_computed_padding(self) -> None:
        """IREE does not compile the reflection that its importer makes of this one, with 200 rows."""
        node = helper.make_node
        nodes = [
            node("Shape", ["x"], ["size"], start=1),
            node("Sub", ["whole", "size"], ["rest"]),
            node("Mul", ["rest", "end"], ["pads"]),
            node("Pad", ["x", "pads"], ["padded"]),
            node("Pad", ["padded", "ends"], ["y"], mode="reflect"),
        ]
        constants = {"whole": 48_000, "end": [0, 0, 0, 1], "ends": [0, 200, 0, 200]}
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes,
            "g",
            [info("x", TensorProto.FLOAT, (1, 16_000))],
            [info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        self.agrees(self.load(model))

    def test_sizes_of_several_outputs(self) -> None:
        node = helper.make_node
        nodes = [
            node("Shape", ["x"], ["sizes"]),
            node("Split", ["sizes"], ["rows", "columns"], num_outputs=2),
            node("Constant", [], ["nothing"], value_ints=[0]),
            node("Constant", [], ["one"], value_ints=[1]),
            node("Range", ["nothing", "columns", "one"], ["places"]),
            node("Expand", ["places", "sizes"], ["all"]),
            node("Cast", ["all"], ["floats"], to=TensorProto.FLOAT),
            node("Add", ["x", "floats"], ["y"]),
        ]
        info = helper.make_tensor_value_info
        values = [[info(name, TensorProto.FLOAT, (2, 3))] for name in "xy"]
        graph = helper.make_graph(nodes, "g", *values)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
        while onnx_sizes.apply(model):
            model = onnx.shape_inference.infer_shapes(model, data_prop=True)
        kept = {each.op_type for each in model.graph.node} - {"Constant", "Cast"}
        self.assertEqual(kept, {"Add"})
        nodes[4] = node("Range", ["nothing", "many", "one"], ["places"])
        nodes.insert(0, node("Constant", [], ["many"], value_ints=[2**40]))
        large = helper.make_model(helper.make_graph(nodes, "g", *values))
        onnx_sizes.apply(large)
        self.assertIn("Range", {each.op_type for each in large.graph.node})

    def test_what_depends_on_data_stays(self) -> None:
        node = helper.make_node
        nodes = [
            node("Add", ["n", "one"], ["m"]),
            node("Shape", ["x"], ["sizes"]),
            node("Concat", ["sizes", "m"], ["both"], axis=0),
            node("Add", ["half", "half"], ["float"]),
            node("Neg", ["sizes"], ["less"]),
            node("Div", ["sizes", "two"], ["halves"]),
            node("Mod", ["sizes", "two"], ["rest"]),
            node("Div", ["less", "two"], ["negative"]),
            node("Div", ["sizes", "zero"], ["none"]),
            node("Mul", ["less", "one"], ["y"]),
        ]
        info = helper.make_tensor_value_info
        constants = {"one": np.array([1]), "half": np.array([0.5], np.float32)}
        constants |= {"two": np.array([2]), "zero": np.array([0])}
        graph = helper.make_graph(
            nodes,
            "g",
            [info("n", TensorProto.INT64, (1,)), info("x", TensorProto.FLOAT, (2, 3))],
            [info("y", TensorProto.INT64, (2,))],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        self.assertTrue(onnx_sizes.apply(model))
        made = {each.name: numpy_helper.to_array(each).tolist() for each in model.graph.initializer}
        given = {"one": [1], "half": [0.5], "two": [2], "zero": [0]}
        sizes = {"sizes": [2, 3], "less": [-2, -3], "halves": [1, 1], "rest": [0, 1]}
        self.assertEqual(made, given | sizes)
        kept = [output for each in model.graph.node for output in each.output]
        self.assertEqual(kept, ["m", "both", "float", "negative", "none", "y"])


if __name__ == "__main__":
    unittest.main()
