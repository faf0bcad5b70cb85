"""Imports ONNX models that clip floats, alone and in a loop; IREE's host runtime must agree with onnxruntime."""

from __future__ import annotations

from unittest import main, mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.frontends import onnx_clips

_FLOAT = TensorProto.FLOAT
_EDGES = "[np.nan, np.inf, -np.inf, -0.0, 0, 0.5, 0.75, -0.75, 6e4, -6e4]"


def _model(element: int) -> onnx.ModelProto:
    """Returns Clips with both limits as constants, one, none, both the wrong way round, and as inputs."""
    limits = (("low", "high"), ("", "high"), ("low", ""), ("", ""), ("high", "low"), ("l", "h"))
    nodes = [
        helper.make_node("Clip", ["x", *names], [f"y{number}"])
        for number, names in enumerate(limits)
    ]
    return _of_nodes(nodes, element, "l", "h")


def _loop() -> onnx.ModelProto:
    """Returns a loop that clips, and takes the remainder of numbers far larger than the divisor."""
    scalar = [helper.make_tensor_value_info(n, k, []) for n, k in (("trip", 7), ("go", 9))]
    before, after = (helper.make_tensor_value_info(n, _FLOAT, [10]) for n in "vr")
    body = helper.make_graph(
        [
            helper.make_node("Clip", ["v", "", "high"], ["w"]),
            helper.make_node("Mod", ["w", "low"], ["r"], fmod=1),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        "body",
        [*scalar, before],
        [helper.make_tensor_value_info("on", 9, []), after],
    )
    return _of_nodes([helper.make_node("Loop", ["trips", "true", "x"], ["y"], body=body)], _FLOAT)


def _of_nodes(nodes: list[onnx.NodeProto], element: int, *scalars: str) -> onnx.ModelProto:
    dtype = helper.tensor_dtype_to_np_dtype(element)
    constants = {
        "low": np.array(-0.3, dtype),
        "high": np.array(0.5, dtype),
        "trips": np.int64(2),
        "true": np.bool_(True),
    }
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", element, [10]),
            *(helper.make_tensor_value_info(name, element, []) for name in scalars),
        ],
        [helper.make_tensor_value_info(node.output[0], element, None) for node in nodes],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _cases(dtype: str, *limits: str) -> str:
    x = f"np.array({_EDGES}, np.{dtype})"
    cases = (", ".join([x, *(f"np.{dtype}({n})" for n in pair.split())]) for pair in limits)
    return f"return Cases(({' '.join(f'({case},),' for case in cases)}), Exact())"


class ClipsTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_are_right(self) -> None:
        limits = ("-0.5 0.5", "0.5 -0.5", "np.nan 0.5", "-0.5 np.nan", "0 0", "-np.inf np.inf")
        cases = _cases("float32", *limits)
        data = _model(_FLOAT)
        self.agrees(self.load(data, cases))
        with mock.patch.object(onnx_clips, "keep_nan"):
            self.rejects("import-disagrees", "output y0 of case 0", data=data, cases=cases)
        with mock.patch.object(onnx_clips, "limit", return_value=True):
            self.rejects("import-disagrees", "output y1 of case 0", data=data, cases=cases)

    def test_half_floats(self) -> None:
        data = _model(TensorProto.FLOAT16)
        self.agrees(self.load(data, _cases("float16", "-0.5 0.5", "np.nan 0.5")))

    def test_in_a_loop(self) -> None:
        data = _loop()
        self.agrees(self.load(data, _cases("float32", "")))


if __name__ == "__main__":
    main()
