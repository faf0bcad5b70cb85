"""Tests inputs of ONNX models that become constants, the Ifs that fold then, and shapes that the user gives."""

from __future__ import annotations

from typing import Any
from unittest import main

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.frontends import import_model, onnx_ifs
from bmc.frontends.options import ImportOptions


def _branch(name: str, *nodes: onnx.NodeProto) -> onnx.GraphProto:
    shift = numpy_helper.from_array(np.float32(len(name)), "shift")
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return helper.make_graph([*nodes], name, [], [output], [shift])


def _switch(rate: int, then: onnx.GraphProto, other: onnx.GraphProto, to: str) -> list[Any]:
    given = numpy_helper.from_array(np.int64(rate), f"rate{rate}")
    return [
        helper.make_node("Constant", [], [f"rate{rate}"], value=given),
        helper.make_node("Equal", ["sr", f"rate{rate}"], [f"is{rate}"]),
        helper.make_node("If", [f"is{rate}"], [to], then_branch=then, else_branch=other),
    ]


def _model() -> onnx.ModelProto:
    """x + 4 at 16 kHz, (x + 3) * 3 at 8 kHz, and x elsewhere."""
    x3 = helper.make_node("Add", ["audio", "shift"], ["x"])
    low = _branch("low", x3, helper.make_node("Mul", ["x", "shift"], ["y"]))
    other = _branch("other", helper.make_node("Identity", ["audio"], ["y"]))
    inner = _branch("inner", *_switch(8000, low, other, "y"))
    high = _branch("high", helper.make_node("Add", ["audio", "shift"], ["y"]))
    graph = helper.make_graph(
        _switch(16000, high, inner, "out"),
        "g",
        [
            helper.make_tensor_value_info("audio", TensorProto.FLOAT, [1, "n"]),
            helper.make_tensor_value_info("sr", TensorProto.INT64, []),
        ],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class PinnedTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def pinned(self, rate: float, **options: Any) -> Any:
        return self.load(_model(), shapes={"audio": (1, 8)}, constants={"sr": rate}, **options)

    def test_the_branch_that_is_taken(self) -> None:
        for rate, shift, factor in ((16000, 4, 1), (8000, 3, 3), (44100, 0, 1)):
            model = self.pinned(rate)
            self.describes(model, "audio: 1x8xf32", "out: 1x8xf32")
            for (x,), (y,) in zip(model.golden.inputs, model.golden.outputs, strict=True):
                np.testing.assert_allclose(y, (x + shift) * factor, rtol=1e-6)
            self.agrees(model)

    def test_what_cannot_be_decided_stays(self) -> None:
        model = _model()
        model.graph.node[1].op_type, model.graph.node[1].domain = "Unknown", "somebody"
        before = model.SerializeToString()
        del model.graph.input[1]
        model.graph.initializer.append(numpy_helper.from_array(np.int64(16000), "sr"))
        onnx_ifs.apply(model)
        self.assertIn("If", [node.op_type for node in model.graph.node])
        other = onnx.ModelProto.FromString(before)
        onnx_ifs.apply(other)  # "sr" is an input here.
        self.assertEqual(other.SerializeToString(), before)

    def test_kinds_of_files(self) -> None:
        saved = self.folder / "saved"
        saved.mkdir()
        (saved / "saved_model.pb").touch()
        for source, options in (
            (saved, {"constants": {"sr": 1}}),
            (self.write("model.mlir", ""), {"constants": {"sr": 1}}),
            (self.write("model.mlir", ""), {"shapes": {"x": (1,)}}),
            (f"{self.write('model.py', '')}:make", {"shapes": {"x": (1,)}}),
        ):
            given: dict[str, Any] = options
            call = lambda s=source, o=given: import_model(str(s), ImportOptions(**o), self.folder)  # noqa: E731
            self.refuses("bad-option", call=call)

    def test_what_does_not_fit(self) -> None:
        for constants, part in (
            ({"rate": 1}, "no input 'rate'"),
            ({"sr": 0.5}, "sr: i64 cannot be 0.5"),
            ({"sr": 2**70}, "cannot be 1.18059e+21"),
            ({"sr": float("inf")}, "sr: i64 cannot be inf"),
            ({"audio": 1e300}, "audio: 1x?xf32 cannot be 1e+300"),
        ):
            call = lambda given=constants: self.load(_model(), constants=given)  # noqa: E731
            self.refuses("bad-option", part, call=call)
        for shapes, part in (
            ({"sound": (1, 8)}, "its inputs are audio: 1x?xf32, sr: i64"),
            ({"audio": (2, 8)}, "audio: 1x?xf32 cannot have the shape of audio: 2x8xf32"),
            ({"audio": (8,)}, "cannot have the shape of audio: 8xf32"),
        ):
            call = lambda given=shapes: self.load(_model(), shapes=given)  # noqa: E731
            self.refuses("bad-option", part, call=call)
        self.rejects("dynamic-shape", "--shape audio=1x512", data=_model())

    def test_the_command_line(self) -> None:
        path = self.folder / "model.onnx"
        path.write_bytes(_model().SerializeToString())
        given = ("import", path, "--out", self.folder / "out")
        done = support.bmc(*given, "--shape", "audio=1x8", "--constant", "sr=8000")
        self.assertEqual((done.status, done.err), (0, ""))
        for option, value in (("--shape", "audio=1x0"), ("--shape", "1x8"), ("--constant", "sr=x")):
            done = support.bmc(*given, option, value)
            self.assertEqual(done.status, 2)
            self.assertIn(f"'{value}' is not NAME=", done.err)


if __name__ == "__main__":
    main()
