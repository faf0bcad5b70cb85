"""Imports ONNX models of ops that are written with others; IREE's host runtime must agree with onnxruntime."""

from __future__ import annotations

from unittest import main, mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.frontends import onnx_composites, onnx_logarithms

_CASES = "return Cases(((np.array([[0, 1, 2], [3, 0, 4], [5, -6, 0]], np.float32),),), Tolerance(1e-5, 1e-5))"


def _model(rows: int = 3) -> onnx.ModelProto:
    make = helper.make_node
    weights = {
        "axis": np.int64(-1),
        "scale": np.array([1, -2, 0.5], np.float32),
        "none": np.array([[1], [0], [1]], np.float32),
    }
    nodes = [
        make("CumProd", ["x", "axis"], ["a"]),
        make("CumProd", ["x", "axis"], ["b"], exclusive=1, reverse=1),
        make("Det", ["x"], ["c"]),
        make("Mul", ["x", "none"], ["z"]),
        make("LpNormalization", ["z"], ["d"]),
        make("LpNormalization", ["z"], ["e"], p=1, axis=0),
        make("RMSNormalization", ["x", "scale"], ["f"], epsilon=0.1),
    ]
    if rows != 3:
        nodes = nodes[2:3]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, rows])],
        [
            helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None)
            for node in nodes
            if node.output[0] != "z"
        ],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=10)


def _sequences(*more: int) -> onnx.ModelProto:
    make, info = helper.make_node, helper.make_tensor_value_info
    nodes = [
        make("ReverseSequence", ["x", "n"], ["y"]),
        make("ReverseSequence", ["x", "n"], ["z"], batch_axis=0, time_axis=1),
    ]
    inputs = [info("x", TensorProto.FLOAT, [4, 4, *more]), info("n", TensorProto.INT64, [4])]
    outputs = [info(name, TensorProto.FLOAT, [4, 4, *more]) for name in "yz"]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class CompositesTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_are_right(self) -> None:
        self.agrees(self.load(_model(), _CASES))

    def test_without_it_a_determinant_is_infinite(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        only = _model()
        del only.graph.node[3:], only.graph.output[3:], only.graph.node[:2], only.graph.output[:2]
        with mock.patch.object(onnx_composites, "rewrite", return_value=False):
            self.rejects("import-disagrees", "output c", data=only, cases=_CASES)

    def test_sums_without_the_element_itself(self) -> None:
        make, info = helper.make_node, helper.make_tensor_value_info
        axis = numpy_helper.from_array(np.int64(1), "axis")
        nodes = [
            make("CumSum", ["x", "axis"], ["y"], exclusive=1),
            make("CumSum", ["x", "axis"], ["z"], exclusive=1, reverse=1),
        ]
        x, y, z = (info(name, TensorProto.FLOAT, [2, 4]) for name in "xyz")
        graph = helper.make_graph(nodes, "g", [x], [y, z], [axis])
        data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        numbers = "[[1, 1e20, 2, 3], [1, 2, np.inf, 3]]"
        cases = f"return Cases(((np.array({numbers}, np.float32),),), Exact())"
        self.agrees(self.load(data, cases))
        with mock.patch.object(onnx_composites, "rewrite", return_value=False):
            self.rejects("import-disagrees", "output y", data=data, cases=cases)

    def test_reductions_of_one_element(self) -> None:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 1])
        axes = numpy_helper.from_array(np.array([1]), "axes")
        for kind in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp"):
            node = helper.make_node(kind, ["x", "axes"], ["y"])
            y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 1])
            graph = helper.make_graph([node], "g", [x], [y], [axes])
            opsets = [helper.make_opsetid("", 18)]
            data = helper.make_model(graph, opset_imports=opsets, ir_version=9)
            self.agrees(
                self.load(
                    data, _CASES.replace("[[0, 1, 2], [3, 0, 4], [5, -6, 0]]", "[[1], [2], [0.5]]")
                )
            )
        # If this fails, torch-mlir does it itself, and the rewrites can go.
        with (
            mock.patch.object(onnx_composites, "rewrite", return_value=False),
            mock.patch.object(onnx_logarithms, "rewrite", return_value=False),
        ):
            self.rejects("iree-crashed", "iree-opt crashed", data=data)

    def test_ranges_of_halves(self) -> None:
        half, info = TensorProto.FLOAT16, helper.make_tensor_value_info
        node = helper.make_node("Range", ["a", "b", "c"], ["y"])
        graph = helper.make_graph(
            [node], "g", [info(name, half, []) for name in "abc"], [info("y", half, [4])]
        )
        data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)], ir_version=10)
        cases = "return Cases((tuple(map(np.float16, (1, 3, 0.5))),), Exact())"
        self.agrees(self.load(data, cases))
        with mock.patch.object(onnx_composites, "rewrite", return_value=False):
            self.rejects("op-rejected", "op 'Range'", data=data, cases=cases)

    def test_gelu(self) -> None:
        numbers = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 3])
        node = helper.make_node("Gelu", ["x"], ["y"], approximate="tanh")
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 3])
        graph = helper.make_graph([node], "g", [numbers], [y])
        data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        self.agrees(self.load(data, _CASES))
        with mock.patch.object(onnx_composites, "rewrite", return_value=False):
            self.rejects("import-disagrees", "output y", data=data, cases=_CASES)

    def test_a_large_determinant_is_refused(self) -> None:
        self.rejects("op-rejected", "op 'Det' of 5 rows", data=_model(5))

    def test_reversed_sequences(self) -> None:
        for more in ((3,), ()):
            shape = (4, 4, *more)
            x = f"np.arange({np.prod(shape)}, dtype=np.float32).reshape({shape})"
            lengths = "np.array([4, 1, 3, 2])", "np.array([1, 2, 2, 4])"
            cases = f"return Cases((({x}, {lengths[0]}), ({x}, {lengths[1]})), Exact())"
            self.agrees(self.load(_sequences(*more), cases))
        with mock.patch.object(onnx_composites, "rewrite", return_value=False):
            self.rejects(
                "op-rejected", "unrealized_conversion_cast", data=_sequences(), cases=cases
            )

    def test_a_scan_of_batches_is_refused(self) -> None:
        info, make = helper.make_tensor_value_info, helper.make_node
        body = helper.make_graph(
            [make("Add", ["s", "c"], ["t"]), make("Identity", ["t"], ["o"])],
            "body",
            [info(name, TensorProto.FLOAT, [2]) for name in "sc"],
            [info(name, TensorProto.FLOAT, [2]) for name in "to"],
        )
        scan = make("Scan", ["", "x", "steps"], ["y", "z"], body=body, num_scan_inputs=1)
        shapes = {"x": [1, 2], "steps": [1, 3, 2], "y": [1, 2], "z": [1, 3, 2]}
        values = [info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
        graph = helper.make_graph([scan], "g", values[:2], values[2:])
        older = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=8)
        self.rejects("op-rejected", "'Scan' of opset 8", data=older)


if __name__ == "__main__":
    main()
