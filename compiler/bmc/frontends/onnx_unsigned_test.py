"""Imports ONNX models of unsigned numbers; IREE's host runtime must agree with onnxruntime on made-up ones."""

from __future__ import annotations

from unittest import main, mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.dtype import Array
from bmc.frontends import onnx_static, onnx_unsigned

_MORE = "integers of the whole type"


def _model(kind: str, dtype: type, *constants: int, **options: str) -> onnx.ModelProto:
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    names = [f"c{number}" for number, _ in enumerate(constants)]
    value: list[Array] = [np.array(number, dtype) for number in constants]
    graph = helper.make_graph(
        [helper.make_node(kind, ["x", *(names or ["x"])], ["y"], **options)],
        "g",
        [helper.make_tensor_value_info("x", element, [16])],
        [helper.make_tensor_value_info("y", element, [16])],
        [numpy_helper.from_array(array, name) for array, name in zip(value, names, strict=True)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _compared(node: onnx.NodeProto) -> onnx.ModelProto:
    """A model that also computes a float, so that only bytes are made up."""
    element = TensorProto.UINT8
    graph = helper.make_graph(
        [node, helper.make_node("Softmax", ["f"], ["s"])],
        "g",
        [
            helper.make_tensor_value_info("x", element, [1, 2, 5, 5]),
            helper.make_tensor_value_info("f", TensorProto.FLOAT, [3]),
        ],
        [
            helper.make_tensor_value_info("y", element, None),
            helper.make_tensor_value_info("s", TensorProto.FLOAT, None),
        ],
        [numpy_helper.from_array(np.array([3]), "k")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


_LARGEST = helper.make_node("TopK", ["x", "k"], ["y", "places"], axis=3)


class UnsignedTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_are_right(self) -> None:
        for model in (
            _model("Div", np.uint8, 1),
            _model("Mod", np.uint8, 3),
            _model("Mod", np.uint16, 7),
            _model("Mod", np.uint32, 7),
            _model("Clip", np.uint8, 1, 250),
            _model("Clip", np.uint32, 1, 2**32 - 9),
            # By themselves: most have fewer bits than that.
            _model("BitShift", np.uint8, direction="LEFT"),
            _model("BitShift", np.uint64, direction="LEFT"),
            _compared(_LARGEST),
        ):
            with self.subTest(model.graph.node[0].op_type):
                loaded = self.load(model)
                self.assertTrue(any(kind.startswith(_MORE) for kind in loaded.made_up))
                self.agrees(loaded)

    def test_without_it_made_up_inputs_refuse_the_model(self) -> None:
        for model in (
            _model("Mod", np.uint8, 3),
            _model("BitShift", np.uint8, direction="LEFT"),
            _compared(_LARGEST),
        ):
            patch = mock.patch.object(onnx_unsigned, "rewrite", return_value=False)
            with self.subTest(model.graph.node[0].op_type), patch:
                self.rejects("import-disagrees", f"made-up {_MORE}", data=model)

    def test_golden_data_is_that_of_the_file(self) -> None:
        other = _model("Div", np.uint8, 7)
        with mock.patch.object(onnx_static, "make", return_value=other):
            self.rejects("import-disagrees", "of case 0", data=_model("Div", np.uint8, 1))

    def test_what_has_no_wider_type_is_refused(self) -> None:
        message = "takes the uint64 of op 'Mod' for signed numbers"
        self.rejects("op-rejected", message, data=_model("Mod", np.uint64, 3))


if __name__ == "__main__":
    main()
