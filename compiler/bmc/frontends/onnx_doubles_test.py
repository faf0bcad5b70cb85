"""Tests what the import says of an ONNX model that computes in f64."""

from __future__ import annotations

from unittest import main

import onnx
import support
from onnx import TensorProto, helper


class DoublesTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_a_note_names_the_node_and_the_difference(self) -> None:
        (note,) = self.load(_model("Exp")).notes
        self.assertRegex(note, r"^Exp \(at the node of e\) computes in f64, .* output y is off by ")

    def test_without_arithmetic_there_is_no_note(self) -> None:
        self.assertEqual(self.load(_model("Identity")).notes, ())


def _model(kind: str) -> onnx.ModelProto:
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["x"], ["d"], to=TensorProto.DOUBLE),
            helper.make_node(kind, ["d"], ["e"]),
            helper.make_node("Cast", ["e"], ["y"], to=TensorProto.FLOAT),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    main()
