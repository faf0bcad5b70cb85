"""ONNX ops that IREE's importer gets wrong: written with others, or refused by what is at fault."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc import reference
from bmc.dtype import Array
from bmc.frontends import onnx_limits, onnx_rewrites
from bmc.limits import Limits

_FLOAT = TensorProto.FLOAT
_RNG = np.random.default_rng(0)
_GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}


def _random(*shape: int) -> Array:
    return _RNG.standard_normal(shape).astype(np.float32)


class _Net:
    """Collects nodes that read `x`; each output of theirs is one of the model."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, Array] = {}

    def add(self, kind: str, *inputs: Array | str, outputs: int = 1, **attributes: Any) -> str:
        """Adds a node; an array becomes an initializer. Returns its first output."""
        number = len(self.nodes)
        names = []
        for index, given in enumerate(inputs):
            name = given if isinstance(given, str) else f"w{number}_{index}"
            if not isinstance(given, str):
                self.weights[name] = given
            names.append(name)
        made = [f"y{number}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(kind, names, made, **attributes))
        return made[0]

    def recurrent(self, kind: str, *more: Array | str, **attributes: Any) -> None:
        count = 2 if attributes.get("direction") == "bidirectional" else 1
        gates = _GATES[kind] * 4
        parts = (_random(count, gates, self.shape[-1]), _random(count, gates, 4))
        outputs = 3 if kind == "LSTM" else 2
        self.add(kind, "x", *parts, *more, outputs=outputs, hidden_size=4, **attributes)

    def model(self, outputs: Sequence[str] = ()) -> onnx.ModelProto:
        made = outputs or [name for node in self.nodes for name in node.output]
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", _FLOAT, self.shape)],
            [helper.make_tensor_value_info(name, _FLOAT, None) for name in made],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        domains = {node.domain for node in self.nodes}
        opsets = [helper.make_opsetid(d, 1 if d else 19) for d in sorted(domains)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def _loop(trips: int, test: str = "c") -> onnx.ModelProto:
    """Returns a loop that adds 1; `test` is its condition for the next trip."""
    nodes = [
        helper.make_node("Add", ["s", "one"], ["t"]),
        helper.make_node("Less", ["t", "nine"], ["d"]),
    ]
    values = [("i", TensorProto.INT64), ("c", TensorProto.BOOL), ("s", _FLOAT)]
    body = helper.make_graph(
        nodes,
        "body",
        [helper.make_tensor_value_info(name, kind, ()) for name, kind in values],
        [
            helper.make_tensor_value_info(test, TensorProto.BOOL, ()),
            helper.make_tensor_value_info("t", _FLOAT, ()),
        ],
    )
    net = _Net()
    net.weights = {"one": np.array(1, np.float32), "nine": np.array(9, np.float32)}
    net.add("Loop", np.array(trips), np.array(True), "x", body=body)
    return net.model()


def _remainder(dtype: int) -> onnx.ModelProto:
    x, y, z = (helper.make_tensor_value_info(name, dtype, [6]) for name in "xyz")
    graph = helper.make_graph(
        [helper.make_node("Mod", ["x", "y"], ["z"], fmod=1)], "g", [x, y], [z]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _doubling(depth: int) -> onnx.ModelProto:
    """Returns a model whose functions each call the next twice."""
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid("f", 1)]
    net = _Net(4)
    net.add("f0", "x", domain="f")
    model = net.model()
    del model.opset_import[:]
    model.opset_import.extend(opsets)
    for number in range(depth):
        call = f"f{number + 1}" if number + 1 < depth else "Relu"
        domain = "f" if number + 1 < depth else ""
        nodes = [helper.make_node(call, [a], [b], domain=domain) for a, b in ("ab", "bc")]
        model.functions.append(helper.make_function("f", f"f{number}", ["a"], ["c"], nodes, opsets))
    return model


def _function(kind: str, inputs: int, **attributes: Any) -> onnx.FunctionProto:
    """Returns a function of one node, which has the attributes that the function gets from its caller."""
    names = [f"a{number}" for number in range(inputs)]
    node = helper.make_node(kind, names, ["b"], **attributes)
    for item in node.attribute:
        given = onnx.AttributeProto(name=item.name, type=item.type, ref_attr_name=item.name)
        item.CopyFrom(given)
    opsets = [helper.make_opsetid("", 19)]
    return helper.make_function("f", "f", names, ["b"], [node], opsets, list(attributes))


class OnnxRewritesTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_are_right(self) -> None:
        net = _Net(1, 2, 4, 5)
        filters = _random(3, 2, 3, 3)
        net.add("Conv", "x", filters, strides=[2, 3])
        net.add("Conv", "x", filters, strides=[4, 3], pads=[0, 1, 2, 0])
        net.add("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 3])
        net.add(
            "AveragePool",
            "x",
            kernel_shape=[4, 3],
            strides=[2, 4],
            pads=[0, 0, 1, 1],
            count_include_pad=1,
        )
        net.add("Pad", "x", np.array([0, 1, 2, 0, 0, 0, 9, 3]), mode="wrap")
        net.add("Pad", "x", np.array([1, 2, 0, 4]), "", np.array([1, -1]), mode="reflect")
        net.add("Pad", "x", np.array([0, -1, 1, 2, 0, 0, -2, 1]), mode="edge")
        sparse = helper.make_sparse_tensor(
            numpy_helper.from_array(_random(2), "sparse"),
            numpy_helper.from_array(np.array([1, 7]), "places"),
            [5, 2],
        )
        net.add("MatMul", "x", "sparse")
        net.add("Clip", "x", np.array(-1, np.float32), np.array(np.inf, np.float32))
        for bounds in (
            ((-1, 9), (-(2**63), 0), (3, 2), (-2, -1)),
            ((-9, 3, 3), (-9, -9, 1), (3, 1, -2), (-1, -1, -1)),
        ):
            net.add("Slice", "x", *(np.array(each) for each in bounds))
        model = net.model()
        model.graph.sparse_initializer.append(sparse)
        self.agrees(self.load(model))

    def test_what_no_rewrite_is_for(self) -> None:
        net = _Net(1, 2, 6, 6)
        net.add("Conv", "x", _random(3, 2, 3, 3), strides=[2, 2])
        net.add("MaxPool", "x", kernel_shape=[6, 6], strides=[2, 2])
        net.add("Pad", "x", np.array([0, 0, 1, 1, 0, 0, 1, 1]), mode="edge")
        model = onnx.shape_inference.infer_shapes(net.model())
        before = model.SerializeToString()
        onnx_rewrites.apply(model)
        self.assertEqual(model.SerializeToString(), before)

    def test_the_op_at_fault_is_named(self) -> None:
        alone = _Net(2, 3)
        alone.add("FastGelu", "x", domain="com.microsoft")
        message = "cannot compile op 'com.microsoft.FastGelu'"
        self.rejects("op-rejected", message, data=alone.model())
        # ONNX does not know the shape of what the first op returns, and IREE does not come to it.
        after = _Net(2, 1, 3)
        scale, zero = np.full((1,), 0.01, np.float32), np.zeros((1,), np.int8)
        weights = np.ones((1, 3, 16), np.int8), np.ones((1, 4, 16), np.int8)
        made = after.add(
            "DynamicQuantizeLSTM", "x", *weights, "", "", "", "", "", scale, zero, scale, zero,
            domain="com.microsoft", hidden_size=4, input_forget=1,
        )  # fmt: skip
        after.add("Squeeze", made)
        model = after.model(["y1_0"])
        self.rejects(
            "op-rejected",
            "cannot compile op 'Squeeze', because ONNX does not know the shapes that op"
            " 'com.microsoft.DynamicQuantizeLSTM' before it returns",
            data=model,
        )

    def test_remainders_of_floats_are_exact(self) -> None:
        numbers = "[-2147483648, 1e10, 5, -5, 65504, -0.0], [7, 3, np.inf, np.inf, 6e-3, 2]"
        arrays = f"tuple(np.array(a, np.float32) for a in ({numbers}))"
        model = _remainder(TensorProto.FLOAT)
        self.agrees(self.load(model, f"return Cases(({arrays},), Exact())"))

    def test_remainders_of_f64(self) -> None:
        part = "the model takes a remainder of f64, for which IREE's library has no function"
        self.rejects("op-rejected", part, "the node of z", data=_remainder(TensorProto.DOUBLE))

    def test_large_integers_with_the_other_sign(self) -> None:
        x = helper.make_tensor_value_info("x", TensorProto.INT32, [4])
        y = helper.make_tensor_value_info("y", TensorProto.INT32, [4])
        graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [y])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        numbers = "[16777217, -(2**31), 2**31 - 1, 0]"
        self.agrees(self.load(model, f"return Cases(((np.array({numbers}, np.int32),),), Exact())"))

    def test_a_product_without_the_added_matrix(self) -> None:
        net = _Net(2, 2)
        net.add("Gemm", "x", _random(2, 2), "x", beta=0.0)
        cases = "return Cases(((np.float32([[1, 2], [3, 4]]),),), Exact())"
        model = self.load(net.model(), cases)
        host = reference.HostModel.compile(model.mlir, model.signatures, self.folder / "reproducer")
        (y,) = host.run((np.array([[1, np.nan], [3, 4]], np.float32),))
        self.assertEqual(np.isnan(y).tolist(), [[True, True], [False, False]])

    def test_tensors_without_elements(self) -> None:
        nodes = [
            # IREE's importer crashes over it.
            helper.make_node("Reshape", ["x", "shape"], ["turned"], allowzero=1),
            helper.make_node("Relu", ["turned"], ["y"]),
            helper.make_node("ReduceProd", ["x"], ["z"], axes=[0], keepdims=0),
        ]
        x, y, z = (
            helper.make_tensor_value_info(name, _FLOAT, shape)
            for name, shape in (("x", (0, 3, 4)), ("y", (3, 4, 0)), ("z", (3, 4)))
        )
        shape = numpy_helper.from_array(np.array([3, 4, 0]), "shape")
        graph = helper.make_graph(nodes, "g", [x], [y, z], [shape])
        opsets = [helper.make_opsetid("", 17)]
        model = self.load(helper.make_model(graph, opset_imports=opsets, ir_version=9))
        self.describes(model, "x: 0x3x4xf32", "y: 3x4x0xf32", "z: 3x4xf32")
        self.agrees(model)

    def test_functions_have_the_attributes_of_their_caller(self) -> None:
        net = _Net(3)
        net.add("f", "x", domain="f", alpha=0.25)
        model = net.model()
        model.functions.append(_function("LeakyRelu", 1, alpha=0.0))
        self.agrees(self.load(model, "return Cases(((np.float32([-2, 0, 3]),),), Exact())"))
        net = _Net(2, 1, 3)
        net.add("f", "x", _random(1, 4, 3), _random(1, 4, 4), domain="f", hidden_size=4, clip=0.5)
        model = net.model()
        model.functions.append(_function("RNN", 3, hidden_size=0, clip=0.0))
        self.agrees(self.load(model))

    def test_functions_and_loops_end(self) -> None:
        part = "function 'f.f20' in 'model.onnx' becomes 1,048,576 ops, more than 1,000,000"
        self.rejects("over-limit", part, "--limit nodes=1048576", data=_doubling(40))
        onnx_limits.check(_doubling(4), "model.onnx", Limits(nodes=16))
        part = "op 'Loop' has 4,611,686,018,427,387,904 trips, more than 1,000,000 (at y0_0"
        self.rejects("over-limit", part, "--limit trips=", data=_loop(2**62))
        number = helper.make_node("Constant", [], ["many"], value_int=2**62)
        constant = _loop(3)
        constant.graph.node.insert(0, number)
        (loop,) = (node for node in constant.graph.node if node.op_type == "Loop")
        loop.input[0] = "many"
        self.rejects("over-limit", part, "--limit trips=", data=constant)
        self.rejects("op-rejected", "without a test that ends it (at y0_0", data=_loop(3, "d"))
        onnx_limits.check(_loop(3), "model.onnx", Limits(trips=3))

    def test_sparse_weights_that_are_too_large_or_damaged(self) -> None:
        for dims, places, kind, part in (
            (
                [2**20, 2**20],
                [1, 7],
                "over-limit",
                "sparse tensor 'sparse' in 'model.onnx' has 4,398",
            ),
            ([2, 3], [[0, 0], [1, 2]], "", ""),
        ):
            net = _Net(2, 2)
            net.add("MatMul", "x", "sparse")
            model = net.model()
            values = numpy_helper.from_array(_random(2), "sparse")
            indices = numpy_helper.from_array(np.array(places), "places")
            model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, dims))
            if kind:
                self.rejects(kind, part, data=model)
            else:
                self.assertEqual(self.load(model).outputs[0].shape, (2, 3))


if __name__ == "__main__":
    unittest.main()
