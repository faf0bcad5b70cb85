"""Recurrent layers of ONNX in all settings; IREE's host runtime must agree with onnxruntime."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import numpy as np
import onnx
import support
from onnx import TensorProto, helper, numpy_helper

from bmc.dtype import Array
from bmc.frontends import onnx_rewrites

_STEPS, _BATCH, _INPUTS, _HIDDEN = 5, 2, 3, 4
_GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}
_RNG = np.random.default_rng(0)


def _random(*shape: int) -> Array:
    return (_RNG.standard_normal(shape) / 2).astype(np.float32)


class _Net:
    """Layers that all read x, and all of whose outputs are outputs."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: dict[str, Array] = {}

    def add(self, kind: str, x: str = "x", lengths: bool = False, **attributes: Any) -> _Net:
        number, both = len(self.nodes), attributes.get("direction") == "bidirectional"
        directions, gates = 1 + both, _GATES[kind] * _HIDDEN
        state = [_BATCH, directions] if attributes.get("layout") else [directions, _BATCH]
        arrays = [
            ("w", _random(directions, gates, _INPUTS)),
            ("r", _random(directions, gates, _HIDDEN)),
            ("b", _random(directions, 2 * gates)),
            ("n", np.array([_STEPS, 2], np.int32) if lengths else None),
            ("h", _random(*state, _HIDDEN)),
        ]
        if kind == "LSTM":
            arrays += [
                ("c", _random(*state, _HIDDEN)),
                ("p", _random(directions, 3 * _HIDDEN) if lengths else None),
            ]
        named = {f"{name}{number}": array for name, array in arrays if array is not None}
        self.weights |= named
        names = [f"{name}{number}" if array is not None else "" for name, array in arrays]
        made = [f"{name}{number}" for name in ("y", "z", "s")[: 2 + (kind == "LSTM")]]
        self.nodes.append(
            helper.make_node(kind, [x, *names], made, hidden_size=_HIDDEN, **attributes)
        )
        return self

    def model(self) -> onnx.ModelProto:
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "g",
            [info("x", TensorProto.FLOAT, [_STEPS, _BATCH, _INPUTS])],
            [info(name, TensorProto.FLOAT, None) for node in self.nodes for name in node.output],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class RecurrentsTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_all_directions(self) -> None:
        net = _Net().add("GRU", direction="bidirectional")
        net.add("RNN", direction="bidirectional", activations=["Tanh", "Relu"])
        model = net.add("LSTM", direction="reverse").model()
        self.agrees(self.load(model))
        with mock.patch.object(onnx_rewrites, "apply"):
            self.rejects("op-rejected", "cannot compile op 'GRU'", data=model)

    def test_what_the_importer_lacks(self) -> None:
        both, names = "bidirectional", ["HardSigmoid", "Tanh", "Relu", "Sigmoid", "Elu", "Tanh"]
        net = _Net()
        # Each number is for the next activation that has such a factor.
        net.add("LSTM", lengths=True, direction=both, activations=names, clip=0.7,
                activation_alpha=[0.3, 0.8], activation_beta=[0.4])  # fmt: skip
        net.add("LSTM", input_forget=1)
        net.add("GRU", lengths=True, direction="reverse", linear_before_reset=1)
        net.add("RNN", activations=["LeakyRelu"], activation_alpha=[0.2])
        model = net.model()
        self.agrees(self.load(model))
        others = tuple(each for each in onnx_rewrites.WHOLE if "recurrents" not in each.__module__)
        with mock.patch.object(onnx_rewrites, "WHOLE", others):
            self.rejects("op-rejected", "cannot compile op 'LSTM'", data=model)

    def test_sequences_first(self) -> None:
        net = _Net()
        for kind in _GATES:
            net.add(kind, "turned", layout=1)
        model = net.model()
        turn = helper.make_node("Transpose", ["x"], ["turned"], perm=[1, 0, 2])
        model.graph.node.insert(0, turn)
        # onnxruntime has no such layers: this agrees with the standard's own outputs.
        self.agrees(self.load(model))

    def test_an_activation_that_no_op_computes(self) -> None:
        part = "op 'RNN' has activation 'ScaledTanh', which is not known"
        model = _Net().add("RNN", activations=["ScaledTanh"], activation_alpha=[1.0]).model()
        self.rejects("op-rejected", part, "(at the node of y0", data=model)


if __name__ == "__main__":
    unittest.main()
