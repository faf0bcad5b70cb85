"""Tests which versions of ONNX are read: the pinned onnx writes a newer IR than the pinned onnxruntime reads."""

from __future__ import annotations

from unittest import main, mock

import onnx
import onnxruntime
import support
from onnx import TensorProto, helper

from bmc.errors import BmcError
from bmc.frontends import onnx_unsigned


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


_SHIFTS = (
    "return Cases(((np.array([-8, 4, 3, 1], np.int8), np.array([9, 1, 2, 3], np.int8)),), Exact())"
)


def _shifted() -> onnx.ModelProto:
    """onnxruntime shifts unsigned numbers only."""
    x, n, y = (helper.make_tensor_value_info(name, TensorProto.INT8, [4]) for name in "xny")
    node = helper.make_node("BitShift", ["x", "n"], ["y"], direction="LEFT")
    graph = helper.make_graph([node], "g", [x, n], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=13)


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

    def test_an_opset_that_onnxruntime_does_not_know(self) -> None:
        """Of ops that have been there before, it is one that onnxruntime knows."""
        model = self.load(_model(opset=28))
        self.describes(model, "x: 4xf32", "y: 4xf32")
        self.assertIn("onnxruntime", model.versions)
        with self.assertRaisesRegex(Exception, "Opset 28 is under development"):
            onnxruntime.InferenceSession(_model(opset=28, ir_version=13).SerializeToString())

    def test_who_computed_what_iree_disagrees_with(self) -> None:
        model = self.load(_shifted(), _SHIFTS)
        self.assertNotIn("onnxruntime", model.versions)
        with mock.patch.object(onnx_unsigned, "rewrite", return_value=False):
            part = "IREE disagrees with the reference evaluator of ONNX: output y"
            self.rejects("import-disagrees", part, data=_shifted(), cases=_SHIFTS)

    def test_a_type_that_nothing_knows(self) -> None:
        with self.assertRaises(BmcError) as caught:
            self.load(_model(max(TensorProto.DataType.values()) + 1, opset=26))
        self.assertIn("does not specify a valid type", str(caught.exception))


if __name__ == "__main__":
    main()
