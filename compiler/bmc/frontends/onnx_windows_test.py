"""Pools and transposed convolutions of ONNX in all settings; IREE's host runtime must agree with onnxruntime."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import onnx_rewrites

_RNG = np.random.default_rng(0)


def _random(*shape: int) -> Array:
    return _RNG.standard_normal(shape).astype(np.float32)


def _model() -> onnx.ModelProto:
    make, info = helper.make_node, helper.make_tensor_value_info
    two, three = [2, 2], [3, 3]
    weights = {
        "w": _random(4, 3, 3, 2),
        "b": _random(6),
        "v": _random(4, 2, 3, 3),
        "rows": np.array([1, 30, 8]),
        "image": np.array([6, 7]),
        "block": np.array([2, 3]),
    }
    nodes: list[Any] = [
        make("MaxPool", ["x"], ["a"], kernel_shape=three, strides=[4, 2], ceil_mode=1, pads=[1, 0, 0, 0]),
        make("MaxPool", ["x"], ["c", "i"], kernel_shape=two, strides=two, storage_order=1),
        make("MaxPool", ["x"], ["d", "j"], kernel_shape=two, strides=two),
        make("MaxUnpool", ["d", "j"], ["e"], kernel_shape=two, strides=two),
        make("LpPool", ["x"], ["f"], kernel_shape=two, dilations=[1, 2], ceil_mode=1, strides=[2, 1]),
        make("LpPool", ["x"], ["g"], kernel_shape=three, auto_pad="SAME_LOWER", p=3, strides=two),
        make("ConvTranspose", ["x", "w", "b"], ["h"], group=2, strides=[3, 2], pads=[1, 0, 2, 1],
             output_padding=[2, 0], dilations=[1, 2]),
        make("ConvTranspose", ["x", "v"], ["k"], auto_pad="SAME_UPPER", strides=two),
        make("Reshape", ["x", "rows"], ["blocks"]),
        make("Col2Im", ["blocks", "image", "block"], ["l"], strides=[3, 1], pads=[0, 1, 1, 0], dilations=[1, 2]),
    ]  # fmt: skip
    made = [name for node in nodes for name in node.output if name != "blocks"]
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, [1, 4, 10, 6])],
        [info(name, TensorProto.INT64 if name in "ij" else TensorProto.FLOAT, None) for name in made],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


class WindowsTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_are_right(self) -> None:
        self.agrees(self.load(_model()))

    def test_uneven_padding_beside_f64(self) -> None:
        make, info = helper.make_node, helper.make_tensor_value_info
        nodes = [
            make("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], auto_pad="SAME_UPPER"),
            make("Add", ["d", "d"], ["e"]),
        ]
        kinds = [("x", TensorProto.FLOAT), ("d", TensorProto.DOUBLE)]
        inputs = [info(name, kind, [1, 1, 3, 3]) for name, kind in kinds]
        outputs = [
            info(name, kind, [1, 1, 3, 3]) for name, (_, kind) in zip("ye", kinds, strict=True)
        ]
        graph = helper.make_graph(nodes, "g", inputs, outputs)
        opsets = [helper.make_opsetid("", 18)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        self.agrees(self.load(model))
        others = tuple(each for each in onnx_rewrites.WHOLE if "windows" not in each.__module__)
        with mock.patch.object(onnx_rewrites, "WHOLE", others):
            self.rejects("op-rejected", "cannot compile", data=model)

    def test_pools_of_integers(self) -> None:
        """Their padding is the least number, and not 0; unsigned ones are compared as such."""
        make, info = helper.make_node, helper.make_tensor_value_info
        others = tuple(each for each in onnx_rewrites.WHOLE if "windows" not in each.__module__)
        for kind in (TensorProto.INT8, TensorProto.UINT8):
            for names, pads in (
                (["y"], [0, 1, 1, 0]),
                (["y", "i"], [0, 1, 1, 0]),
                (["y"], [0] * 4),
            ):
                pool = make("MaxPool", ["x"], names, kernel_shape=[3, 3], strides=[2, 2], pads=pads)
                found = [info("y", kind, None), info("i", TensorProto.INT64, None)][: len(names)]
                graph = helper.make_graph([pool], "g", [info("x", kind, [2, 2, 7, 8])], found)
                opsets = [helper.make_opsetid("", 18)]
                model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
                with self.subTest(kind=kind, names=names, pads=pads):
                    self.agrees(self.load(model))
                    if kind == TensorProto.INT8 and len(names) == 1:
                        continue
                    with mock.patch.object(onnx_rewrites, "WHOLE", others):
                        self.assertRaises(BmcError, self.load, model)

    def test_quantized_pool(self) -> None:
        """The bytes of its made-up inputs are of the whole range."""
        make, info = helper.make_node, helper.make_tensor_value_info
        pool = make("MaxPool", ["x"], ["m"], kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 0, 0])
        real = make("DequantizeLinear", ["m", "s", "z"], ["y"])
        constants = [
            numpy_helper.from_array(np.array(0.02, np.float32), "s"),
            numpy_helper.from_array(np.array(-128, np.int8), "z"),
        ]
        ends = [info("x", TensorProto.INT8, [1, 2, 8, 8])], [info("y", TensorProto.FLOAT, None)]
        graph = helper.make_graph([pool, real], "g", *ends, constants)
        opsets = [helper.make_opsetid("", 18)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        loaded = self.load(model)
        self.agrees(loaded)
        given = loaded.golden.inputs[0][0]
        self.assertLess(given.min(), -100)
        self.assertGreater(given.max(), 100)
        others = tuple(each for each in onnx_rewrites.WHOLE if "windows" not in each.__module__)
        with mock.patch.object(onnx_rewrites, "WHOLE", others):
            self.rejects("import-disagrees", "of case", data=model)

    def test_without_it_iree_refuses(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        others = tuple(each for each in onnx_rewrites.WHOLE if "windows" not in each.__module__)
        for index in (1, 4, 5, 6, 7, 9):
            model = _model()
            node = model.graph.node[index]
            kept = [
                each for each in model.graph.node if each.output[0] in (node.output[0], "blocks")
            ]
            outputs = [each for each in model.graph.output if each.name in node.output]
            for field, values in ((model.graph.node, kept), (model.graph.output, outputs)):
                del field[:]
                field.extend(values)
            with self.subTest(str(node.op_type)), mock.patch.object(onnx_rewrites, "WHOLE", others):
                self.rejects("op-rejected", f"cannot compile op '{node.op_type}'", data=model)


if __name__ == "__main__":
    unittest.main()
