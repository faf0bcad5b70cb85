"""Imports ONNX models with onnxruntime's outputs, and tests the errors for bad files."""

from __future__ import annotations

import functools
import sys
import unittest
from collections.abc import Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc import artifacts, spec
from bmc.dtype import Array
from bmc.frontends import onnx as frontend
from bmc.frontends import onnx_file, onnx_static
from bmc.frontends.options import INT8, ImportOptions

_FLOAT = TensorProto.FLOAT
_RNG = np.random.default_rng(0)
_FILTER = _RNG.standard_normal((4, 3, 3, 3)).astype(np.float32)
_DENSE = _RNG.standard_normal((4, 10)).astype(np.float32)

Value = tuple[str, int, Sequence[int | str]]


def _model(
    nodes: list[onnx.NodeProto],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    weights: Mapping[str, Array] = {},
    opset: int = 17,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "a graph",
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    domains = {node.domain for node in nodes} - {""}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


_X, _Y = ("x", _FLOAT, (2, 3)), ("y", _FLOAT, (2, 3))


def _text(name: str) -> Value:
    return name, TensorProto.STRING, (2, 3)


def _node(kind: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def _vision(batch: int | str = "batch") -> onnx.ModelProto:
    nodes = [
        _node("Conv", "x filter", "c", pads=[1, 1, 1, 1], name="conv"),
        _node("Relu", "c", "r"),
        _node("GlobalAveragePool", "r", "p"),
        _node("Flatten", "p", "f"),
        _node("MatMul", "f dense", "y"),
    ]
    x, y = ("x", _FLOAT, [batch, 3, 8, 8]), ("y", _FLOAT, [batch, 10])
    return _model(nodes, [x], [y], {"filter": _FILTER, "dense": _DENSE})


def _one(kind: str, shape: Sequence[int | str] = (2, 3), **attributes: Any) -> onnx.ModelProto:
    """Returns a model with one op."""
    node = _node(kind, "x", "y", name="only", **attributes)
    return _model([node], [("x", _FLOAT, shape)], [("y", _FLOAT, shape)])


class OnnxTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_batch(self) -> None:
        model = self.load(_vision())
        self.describes(model, "x: 1x3x8x8xf32", "y: 1x10xf32")
        self.assertEqual(model.golden.source, artifacts.GOLDEN_FRAMEWORK)
        self.assertEqual([p.name for p in model.parameters], ["dense", "filter"])
        self.assertIn(b"nchw", model.mlir.read_bytes())
        self.agrees(model)
        five = "np.random.default_rng(1).standard_normal((5, 3, 8, 8)).astype(np.float32)"
        model = self.load(_vision(), f"return Cases((({five},),), Tolerance(1e-5, 1e-5))")
        self.describes(model, "x: 5x3x8x8xf32", "y: 5x10xf32")
        self.agrees(model)

    def test_one_file_gives_one_import(self) -> None:
        first = self.load(_vision()).mlir.read_bytes()
        self.assertEqual(self.load(_vision()).mlir.read_bytes(), first)
        self.assertNotIn(str(self.folder).encode(), first)

    def test_other_dynamic_dimensions(self) -> None:
        model = _one("Relu", (2, "width"))
        self.rejects("dynamic-shape", "dimension 1 of input x: 2x?xf32", "--cases", data=model)
        case = "np.ones((2, 7), np.float32)"
        loaded = self.load(model, f"return Cases((({case},),), Tolerance(1e-5, 1e-5))")
        self.describes(loaded, "x: 2x7xf32", "y: 2x7xf32")
        self.agrees(loaded)

    def test_order_names_and_element_types(self) -> None:
        for name, kind in (("f16", "FLOAT16"), ("i8", "INT8"), ("u8", "UINT8"), ("i16", "INT16"),
                           ("i32", "INT32"), ("i64", "INT64"), ("f32", "FLOAT")):  # fmt: skip
            element = getattr(TensorProto, kind)
            nodes = [_node("Sub", "b a", "z"), _node("Greater", "b a", "flag")]
            outputs = [("z", element, (4,)), ("flag", TensorProto.BOOL, (4,))]
            model = self.load(_model(nodes, [("b", element, (4,)), ("a", element, (4,))], outputs))
            self.describes(model, f"b: 4x{name}", f"a: 4x{name}", f"z: 4x{name}", "flag: 4xbool")
            self.agrees(model)

    def test_scalars(self) -> None:
        model = self.load(_one("Exp", ()))
        self.describes(model, "x: f32", "y: f32")
        self.agrees(model)

    def test_old_opset(self) -> None:
        nodes = [
            _node("Unsqueeze", "x", "u", axes=[0]),
            _node("ReduceSum", "u", "y", axes=[2], keepdims=0),
        ]
        x, y = ("x", _FLOAT, (3, 8)), ("y", _FLOAT, (1, 3))
        model = self.load(_model(nodes, [x], [y], opset=9))
        self.describes(model, "x: 3x8xf32", "y: 1x3xf32")
        self.agrees(model)

    def test_external_data(self) -> None:
        path = self.folder / "model.onnx"
        onnx.save_model(
            _vision(), path, save_as_external_data=True, location="weights.bin", size_threshold=0
        )
        self.assertNotIn(_FILTER.tobytes(), path.read_bytes())
        data = path.read_bytes()
        model = self.load(data)
        self.agrees(model)
        self.assertEqual([p.name for p in model.parameters], ["dense", "filter"])
        # As in a Bazel sandbox, where files are links into one folder.
        real = self.folder / "real"
        real.mkdir()
        for name in ("model.onnx", "weights.bin"):
            (self.folder / name).rename(real / name)
            (self.folder / name).symlink_to(real / name)
        self.assertEqual(len(onnx_file.load(path).weights()), 2)

    def test_external_data_that_is_elsewhere(self) -> None:
        """Data outside the model's folder, or outside the file, is not read."""
        secret = self.folder / "secret"
        secret.write_bytes(_FILTER.tobytes() + _DENSE.tobytes())
        folder = self.folder / "model"
        folder.mkdir()
        path, data = folder / "model.onnx", folder / "weights.bin"

        def refused(kind: str, *parts: str, **entries: str) -> None:
            model = _vision()
            for tensor in model.graph.initializer:
                tensor.ClearField("raw_data")
                tensor.data_location = TensorProto.EXTERNAL
                for key, value in ({"location": "weights.bin"} | entries).items():
                    tensor.external_data.add(key=key, value=value)
            path.write_bytes(model.SerializeToString())
            self.refuses(kind, *parts, call=lambda: onnx_file.load(path))

        refused("file-missing", "'weights.bin'")
        outside = "which lies outside its own folder"
        for location in ("../secret", str(secret), "", "a/../../secret", "..\\secret"):
            refused("unsafe-file", f"reads '{location}', {outside}", location=location)
        data.symlink_to(secret)
        refused("unsafe-file", f"reads 'weights.bin', {outside}")
        (folder / "sub").symlink_to(self.folder)
        refused("unsafe-file", f"reads 'sub/secret', {outside}", location="sub/secret")
        data.unlink()
        data.write_bytes(b"short")
        refused("bad-file", "size")
        for offset, length in (("-1", "1"), ("6", "1"), ("0", "6"), ("0", "-1"), ("x", "1")):
            refused(
                "bad-file",
                "'filter' that lies outside the 5 bytes of 'weights.bin'",
                offset=offset,
                length=length,
            )
        # This holds wherever the tensor is in the model.
        hidden = _vision()
        function = hidden.functions.add(name="f", domain="d")
        function.node.add(op_type="Constant").attribute.add(name="value").t.external_data.add(
            key="location", value="../secret"
        )
        path.write_bytes(hidden.SerializeToString())
        self.refuses("unsafe-file", "'../secret'", call=lambda: onnx_file.load(path))
        self.refuses(
            "file-missing",
            "in another file",
            call=lambda: onnx_file.parse(hidden.SerializeToString(), "m"),
        )

    def test_shapes_that_no_machine_has(self) -> None:
        for shape in ([1 << 40], [1 << 62, 1 << 62], [-5]):
            model = _one("Relu", shape)
            self.rejects("too-large", "no machine has a tensor such as x: ", data=model)
        # A shape that passes the check may still be too large for this machine.
        fill = [
            _node("ConstantOfShape", "size", "c"),
            _node("ReduceSum", "c", "r"),
            _node("Add", "x r", "y"),
        ]
        x, y = ("x", _FLOAT, [4]), ("y", _FLOAT, [4])
        huge = _model(fill, [x], [y], {"size": np.array([1 << 40])})
        self.rejects("model-failed", "ConstantOfShape", data=huge)

    def test_a_factory_may_export(self) -> None:
        x = np.ones((1, 3, 8, 8), np.float32)
        model = spec.ModelSpec(
            spec.ModelFile(".onnx", _vision().SerializeToString()),
            ((x,), (-x,)),
            spec.Tolerance(1e-5, 1e-5),
            labels=np.array([0, 1]),
            input_names=("picture",),
            output_names=("scores",),
        )
        out = self.folder / "out"
        out.mkdir()
        imported = frontend.import_spec(model, "a/model.py:make", ImportOptions(), out)
        self.describes(imported, "picture: 1x3x8x8xf32", "scores: 1x10xf32")
        self.assertEqual(imported.source, "model.py:make")
        self.assertEqual(imported.golden.labels, (0, 1))

    def test_quantized_to_int8(self) -> None:
        cases = (
            "r = np.random.default_rng(0); d = lambda n: tuple((r.standard_normal((1, 3, 8, 8))"
            ".astype(np.float32),) for _ in range(n)); return Cases(d(3), Tolerance(.02, .02){})"
        )
        calibrated = cases.format(", calibration=d(16)")
        model = self.load(_vision(), calibrated, quantize=INT8)
        self.agrees(model)
        self.assertIn(b"quantize_affine", model.mlir.read_bytes())
        exact = self.load(_vision(), calibrated)
        self.assertNotIn(b"quantize_affine", exact.mlir.read_bytes())
        # The golden data comes from the quantized model: close to the float model's, but not equal.
        got, want = model.golden.outputs[0][0], exact.golden.outputs[0][0]
        self.assertFalse(np.array_equal(got, want))
        np.testing.assert_allclose(got, want, atol=0.2)
        plain = cases.format("")
        self.rejects("no-calibration", "calibration", data=_vision(), cases=plain, quantize=INT8)
        wrong = cases.format(", calibration=((np.ones((1, 3, 9, 9), np.float32),),)")
        self.rejects("bad-spec", "1x3x9x9", data=_vision(), cases=wrong, quantize=INT8)

    def test_files_that_are_broken(self) -> None:
        data = _vision().SerializeToString()
        for broken in (b"", b"\0" * 64, b"PK\3\4" * 99):
            self.rejects("bad-file", "onnx rejects 'model.onnx'", "whole file", data=broken)
        self.rejects_beginnings(data, "onnx rejects 'model.onnx'")
        weight, value = _vision(), _vision()
        weight.graph.initializer[1].data_type = 127
        value.graph.input[0].type.tensor_type.elem_type = 127
        for unknown in (weight, value):
            self.rejects("bad-file", "onnx rejects 'model.onnx'", data=unknown)

    def test_what_onnxruntime_folds(self) -> None:
        # Older exporters write x.squeeze(0) like this, with another rank in each branch.
        branches = [
            helper.make_graph(nodes, name, [], [helper.make_tensor_value_info("s", _FLOAT, shape)])
            for name, nodes, shape in (
                ("then", [_node("Squeeze", "x zeros", "s")], (3,)),
                ("else", [_node("Identity", "x", "s")], (1, 3)),
            )
        ]
        nodes = [
            _node("Shape", "x", "shape"),
            _node("Gather", "shape zeros", "size", axis=0),
            _node("Equal", "size ones", "c"),
            _node("If", "c", "y", then_branch=branches[0], else_branch=branches[1]),
        ]
        zeros, ones = np.zeros(1, np.int64), np.ones(1, np.int64)
        model = _model(
            nodes, [("x", _FLOAT, ("n", 3))], [("y", _FLOAT, ())], {"zeros": zeros, "ones": ones}
        )
        model.graph.output[0].type.tensor_type.ClearField("shape")
        loaded = self.load(model)
        self.describes(loaded, "x: 1x3xf32", "y: 3xf32")
        self.agrees(loaded)
        unfolded = functools.partial(onnx_static.make, fold=False)
        with mock.patch.object(onnx_static, "make", lambda *a, fold=False: unfolded(*a)):
            self.rejects("op-rejected", "'If'", data=model)

    def test_what_models_may_look_like(self) -> None:
        twice = _one("Relu")
        twice.graph.output.append(twice.graph.output[0])
        inside = [helper.make_opsetid("", 17)]
        function = _model([_node("F", "x", "y", domain="mine")], [_X], [_Y])
        function.functions.append(
            helper.make_function("mine", "F", ["a"], ["b"], [_node("Relu", "a", "b")], inside)
        )
        for data, described in (
            (twice, ("x: 2x3xf32", "y: 2x3xf32", "y: 2x3xf32")),
            (function, ("x: 2x3xf32", "y: 2x3xf32")),
            (_one("Relu", (-1, 3)), ("x: 1x3xf32", "y: 1x3xf32")),
            (_model([], [_X], [_X]), ("x: 2x3xf32", "x: 2x3xf32")),
        ):
            model = self.load(data)
            self.describes(model, *described)
            self.assertIn(support.AGREES, model.second_reference)

    def test_what_no_model_may_be(self) -> None:
        relu, sequence = _node("Relu", "x", "y"), _node("SequenceConstruct", "x x", "y")
        several = _model([sequence], [_X], [_Y])
        several.graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("y", _FLOAT, None))
        random = [_node("RandomNormalLike", "x", "r"), _node("Add", "x r", "y")]
        text = _model([_node("Identity", "x", "y")], [_text("x")], [_text("y")])
        for data, kind, part in (
            (_model([relu], [_X], []), "bad-signature", "'model.onnx' has no outputs"),
            (several, "bad-signature", "output y of 'model.onnx' is not a tensor"),
            (_model(random, [_X], [_Y]), "random-model", "op 'RandomNormalLike' draws"),
            (text, "unsupported-dtype", "element type string of input x"),
        ):
            with self.subTest(part):
                self.rejects(kind, part, data=data)

    def test_ops_that_cannot_be_imported(self) -> None:
        strange = _one("Gelu", domain="com.microsoft")
        part = "cannot compile op 'com.microsoft.Gelu' (at only)"
        self.rejects("op-rejected", part, "other ops", data=strange)
        # IREE names a constant that the importer made for this op.
        cut = _node("MaxRoiPool", "r where", "y", name="cut", pooled_shape=[2, 2])
        inside = {"where": np.array([[0, 0, 0, 3, 3]], np.float32)}
        ends = [("x", _FLOAT, (1, 1, 4, 4))], [("y", _FLOAT, (1, 1, 2, 2))]
        data = _model([_node("Relu", "x", "r"), cut], *ends, inside, opset=18)
        self.rejects("op-rejected", "cannot compile op 'MaxRoiPool' (at cut)", data=data)
        unknown = _one("Frobnicate", domain="org.example")
        self.rejects("model-failed", "Frobnicate", data=unknown)
        missing = _one("Frobnicate")
        self.rejects("bad-file", "Frobnicate", data=missing)

    def test_shapes_that_depend_on_data(self) -> None:
        node = _node("NonZero", "x", "y")
        for count in ("n", 4):  # The second one is true for only some inputs.
            outputs = [("y", TensorProto.INT64, (2, count))]
            model = _model([node], [("x", _FLOAT, (2, 3))], outputs)
            self.describes(self.load(model), "x: 2x3xf32", "y: 2x6xi64", "y_count: i32")

    def test_ops_that_train(self) -> None:
        batch_norm = _node("BatchNormalization", "x s b m v", "y rm rv", training_mode=1)
        ones = {name: np.ones(3, np.float32) for name in "sbmv"}
        x, y = ("x", _FLOAT, [2, 3]), ("y", _FLOAT, [2, 3])
        data = _model([batch_norm], [x], [y], ones)
        self.rejects("train-mode", "op 'BatchNormalization'", "(at y in model.onnx)", data=data)
        dropout = _node("Dropout", "x ratio mode", "y", name="drop")
        for training in (True, False):
            given = {"ratio": np.array(0.5, np.float32), "mode": np.array(training)}
            data = _model([dropout], [x], [y], given)
            if training:
                self.rejects("train-mode", "op 'Dropout'", "(at drop in", data=data)
            else:
                self.agrees(self.load(data))

    def test_weights_that_are_not_finite(self) -> None:
        for value in (np.nan, np.inf):
            bad = _DENSE.copy()
            bad[1, 2] = value
            model = _vision()
            model.graph.initializer[1].CopyFrom(numpy_helper.from_array(bad, "dense"))
            self.rejects("bad-weight", "weight 'dense' contains NaN or Inf", data=model)

    def test_inputs_that_are_no_tensors(self) -> None:
        value = helper.make_tensor_sequence_value_info("x", _FLOAT, None)
        graph = helper.make_graph(
            [_node("SequenceLength", "x", "y")],
            "g",
            [value],
            [helper.make_tensor_value_info("y", TensorProto.INT64, ())],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        self.rejects("bad-signature", "input x", "not a tensor", data=model)

    def test_cases_that_do_not_fit(self) -> None:
        x = "np.zeros((1, 3, 8, 8), np.float32)"
        close = "Tolerance(1e-5, 1e-5)"
        for cases, part in (
            (f"(({x}[:, :2],),), {close}", "(x: 1x2x8x8xf32) but the model takes (x: ?x3x8x8xf32)"),
            (f"(({x}.astype(int),),), {close}", "(x: 1x3x8x8xi64) but the model takes"),
            (f"(({x}, {x}),), {close}", "but the model takes (x: ?x3x8x8xf32)"),
            (f"(({x},), ({x}[0],)), {close}", "case 1 is (x: 3x8x8xf32)"),
            (f"(({x},),), {close}, (({x},),)", "Cases.expected"),
        ):
            self.rejects("bad-spec", part, data=_vision(), cases=f"return Cases({cases})")

    def test_packages_that_are_missing(self) -> None:
        for name in ("onnx", "onnxruntime"):
            with mock.patch.dict(sys.modules, {name: None}):
                self.rejects("onnx-missing", name, 'requirement("onnx")', data=_vision())


if __name__ == "__main__":
    unittest.main()
