"""Products and LSTM that onnxruntime quantizes while they run; IREE's host runtime must agree with onnxruntime."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.dtype import Array
from bmc.frontends import onnx_steps, quantized
from bmc.frontends.onnx_file import parse
from bmc.spread import NONE

_RNG = np.random.default_rng(0)
_STEPS, _SIZE, _HIDDEN = 5, 6, 4


def _bytes(*shape: int) -> Array:
    return _RNG.integers(-127, 128, shape).astype(np.int8)


def _model(nodes: list[Any], weights: dict[str, Array], *shape: int) -> Any:
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, shape)],
        [info(name, TensorProto.FLOAT, None) for name in nodes[-1].output if name],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def _layer(direction: str, number: int, value: str) -> tuple[Any, dict[str, Array]]:
    """Returns an LSTM node and its weights: one zero point, and one scale for each column in the second layer."""
    both = 2 if direction == "bidirectional" else 1
    size = _SIZE if number == 0 else _HIDDEN
    columns: tuple[int, ...] = (both,) if number == 0 else (both, 4 * _HIDDEN)
    weights = {
        "W": _bytes(both, size, 4 * _HIDDEN), "R": _bytes(both, _HIDDEN, 4 * _HIDDEN),
        "B": _RNG.standard_normal((both, 8 * _HIDDEN)).astype(np.float32),
        "ws": np.full(columns, 0.01, np.float32), "wz": np.zeros(columns, np.int8),
        "rs": np.full(columns, 0.02, np.float32), "rz": np.zeros(columns, np.int8),
    }  # fmt: skip
    weights = {f"{name}{number}": array for name, array in weights.items()}
    names = [
        f"{name}{number}" if name else ""
        for name in ("W", "R", "B", "", "", "", "", "ws", "wz", "rs", "rz")
    ]
    outputs = [f"{name}{number}" for name in ("Y", "H", "C")]
    node = helper.make_node(
        "DynamicQuantizeLSTM", [value, *names], outputs, domain="com.microsoft", hidden_size=_HIDDEN,
        direction=direction,
    )  # fmt: skip
    return node, weights


class DynamicTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_layers_behind_one_another(self) -> None:
        first, weights = _layer("reverse", 0, "x")
        shape = np.array([_STEPS, 1, _HIDDEN])
        middle = helper.make_node("Reshape", ["Y0", "shape"], ["z"])
        second, more = _layer("bidirectional", 1, "z")
        model = _model(
            [first, middle, second], {**weights, **more, "shape": shape}, _STEPS, 1, _SIZE
        )
        self.agrees(self.load(model))

    def test_products(self) -> None:
        weights = {
            "w": _bytes(_SIZE, 3),
            "s": np.array(0.02, np.float32),
            "z": np.array(3, np.int8),
            "b": np.array([1, 2, 3], np.float32),
        }
        node = helper.make_node(
            "DynamicQuantizeMatMul", ["x", "w", "s", "z", "b"], ["y"], domain="com.microsoft"
        )
        self.agrees(self.load(_model([node], weights, 5, _SIZE)))
        rounded = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"])
        inputs = ["q", "w", "qs", "s", "qz", "z"]
        node = helper.make_node("MatMulIntegerToFloat", inputs, ["y"], domain="com.microsoft")
        del weights["b"]
        self.agrees(self.load(_model([rounded, node], weights, 5, _SIZE)))

    def test_which_files_mix_integers_and_floats(self) -> None:
        dynamic = helper.make_node(
            "DynamicQuantizeMatMul", ["x", "w", "s"], ["y"], domain="com.microsoft"
        )
        restored = helper.make_node("DequantizeLinear", ["q", "s"], ["r"])
        moved = helper.make_node("Transpose", ["r"], ["t"])
        for name, nodes, wanted in (
            ("quantized while it runs", [dynamic], True),
            (
                "quantized before",
                [restored, moved, helper.make_node("MatMul", ["t", "w"], ["y"])],
                False,
            ),
            ("products of floats", [restored, helper.make_node("MatMul", ["r", "x"], ["y"])], True),
            ("weights of floats", [restored, helper.make_node("MatMul", ["r", "f"], ["y"])], True),
            ("no products", [helper.make_node("Add", ["x", "w"], ["y"])], False),
        ):
            with self.subTest(name):
                model = _model(
                    nodes, {"w": np.array(1), "s": np.array(1), "f": np.ones(1, np.float32)}, 2, 2
                )
                self.assertEqual(quantized.has_float_products(model), wanted)

    def test_a_step_is_allowed_only_where_roundings_move_the_outputs_by_one(self) -> None:
        weights: dict[str, Array] = {
            "w": _bytes(_SIZE, 3),
            "s": np.array(0.02, np.float32),
            "z": np.array(3, np.int8),
        }
        node = helper.make_node(
            "DynamicQuantizeMatMul", ["x", "w", "s", "z"], ["y"], domain="com.microsoft"
        )
        scaled = helper.make_node("Mul", ["x", "f"], ["xf"])
        node.input[0] = "xf"
        model = _model([scaled, node], {**weights, "f": np.ones(_SIZE, np.float32)}, 1, _SIZE)
        file = parse(model.SerializeToString(), "m.onnx")
        between = np.array([[0, 255, 0.5, 1.5, 100.5, 7.5]], np.float32)  # halves of a step of 1
        apart = [
            onnx_steps.widened(NONE, file, ((case,),), file.run(((case,),))).relative
            for case in (between, np.array([[0, 255, 1, 2, 100, 7]], np.float32))
        ]
        self.assertGreater(apart[0], 1e-3)
        self.assertLess(apart[1], 1e-5)

    def test_constants_that_are_no_weights_do_not_move(self) -> None:
        """A size or an exponent that moves makes another model."""
        nodes = [
            helper.make_node("Resize", ["x", "", "sizes"], ["r"]),
            helper.make_node("QuantizeLinear", ["r", "s", "z"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
            helper.make_node("Pow", ["d", "three"], ["y"]),
        ]
        weights: dict[str, Array] = {
            "sizes": np.array([1, 2], np.float32),
            "s": np.array(1, np.float32),
            "z": np.array(0, np.int8),
            "three": np.array(3, np.float32),
        }
        file = parse(_model(nodes, weights, 1, _SIZE).SerializeToString(), "m.onnx")
        between = (np.array([[-9, 7, 0.5, -1.5, 9.5, 7.5]], np.float32),)
        at = (np.array([[-9, 7, 1, 2, 10, 7]], np.float32),)
        theirs = onnx_steps.widened(NONE, file, (between,), file.run((between,)))
        self.assertEqual(theirs, NONE)
        apart = [
            onnx_steps.widened(NONE, file, (case,), file.run((case,)), is_ours=True).relative
            for case in (between, at)
        ]
        # 9.5 becomes 9 or 10, whose cubes are 271 of 1000 apart; no tolerance is as wide.
        self.assertEqual(apart[0], 2**-2)
        self.assertLess(apart[1], 1e-5)

    def test_a_cast_to_bytes_inside_a_loop(self) -> None:
        """IREE's importer makes 127 of all larger numbers."""
        info = helper.make_tensor_value_info
        body = helper.make_graph(
            [
                helper.make_node("Cast", ["s"], ["q"], to=TensorProto.UINT8),
                helper.make_node("Cast", ["q"], ["f"], to=TensorProto.FLOAT),
                helper.make_node("Mul", ["f", "half"], ["h"]),
                helper.make_node("Add", ["h", "x"], ["t"]),
                helper.make_node("Identity", ["c"], ["d"]),
            ],
            "body",
            [
                info("i", TensorProto.INT64, ()),
                info("c", TensorProto.BOOL, ()),
                info("s", TensorProto.FLOAT, (4,)),
            ],
            [info("d", TensorProto.BOOL, ()), info("t", TensorProto.FLOAT, (4,))],
            [numpy_helper.from_array(np.array(0.5, np.float32), "half")],
        )
        loop = helper.make_node("Loop", ["n", "yes", "start"], ["y"], body=body)
        weights = {
            "n": np.array(2),
            "yes": np.array(True),
            "start": np.array([130, 200, 250, 3], np.float32),
        }
        self.agrees(self.load(_model([loop], weights, 4)))


if __name__ == "__main__":
    unittest.main()
