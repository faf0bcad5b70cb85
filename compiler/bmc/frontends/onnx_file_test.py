"""Tests which versions of ONNX are read: the pinned onnx writes a newer IR than the pinned onnxruntime reads."""

from __future__ import annotations

from unittest import main

import onnx
import onnxruntime
import support
from onnx import TensorProto, helper

from bmc.errors import BmcError


def _model(
    kind: int = TensorProto.FLOAT, opset: int = 17, ir_version: int = onnx.IR_VERSION
) -> onnx.ModelProto:
    """x + x, written with one cast to and fro if it is not of floats."""
    nodes = [helper.make_node("Add", ["x", "x"], ["y"])]
    if kind != TensorProto.FLOAT:
        nodes = [
            helper.make_node("Cast", ["x"], ["small"], to=kind),
            helper.make_node("Cast", ["small"], ["y"], to=TensorProto.FLOAT),
        ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y])
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


class OnnxFileTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_the_newest_ir_of_an_opset_that_onnxruntime_knows(self) -> None:
        self.describes(self.load(_model()), "x: 4xf32", "y: 4xf32")

    def test_onnxruntime_refuses_the_number_alone(self) -> None:
        """If it no longer does, or does one number earlier, onnx_file has the wrong number."""
        providers = ["CPUExecutionProvider"]
        with self.assertRaisesRegex(Exception, "max supported IR version: 13$"):
            onnxruntime.InferenceSession(_model().SerializeToString(), providers=providers)
        older = _model(ir_version=13).SerializeToString()
        onnxruntime.InferenceSession(older, providers=providers)

    def test_newer_opsets_and_types_are_refused_for_what_they_are(self) -> None:
        for model, part in (
            (_model(opset=28), "Opset 28 is under development"),
            (_model(TensorProto.FLOAT6E2M3, opset=26), "does not specify a valid type"),
        ):
            with self.assertRaises(BmcError) as caught:
                self.load(model)
            self.assertIn(part, str(caught.exception))


if __name__ == "__main__":
    main()
