"""SVDFs in .tflite files match LiteRT's, those of integers bit for bit, and keep their states from call to call."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import support
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import NDArray
from tflite_graph import Graph

from bmc.artifacts import GoldenCall

_FUSED = schema.ActivationFunctionType


def _file(
    kind: str,
    *,
    batch: int = 1,
    inputs: int = 6,
    units: int = 4,
    rank: int = 1,
    memory: int = 5,
    state: float = 0.05,
    bias: bool = True,
    twice: bool = False,
    fused: int = _FUSED.RELU,
    change: Any = None,
) -> bytes:
    """Returns an SVDF with random weights.

    Args:
      kind: "float32", "hybrid", or the type of the state.
      state: its scale; numbers saturate if it is small.
      twice: whether another SVDF follows.
      fused: its activation.
      change: what changes the model, a Graph, in the end.
    """
    rng = np.random.default_rng(1)
    made = Graph()
    outer, inner = {
        "float32": ("float32", "float32"),
        "hybrid": ("float32", "int8"),
    }.get(kind, ("int8", "int8"))
    kept = "float32" if outer == "float32" else kind
    time = "int8" if kind == "hybrid" else kept

    def tensor(name: str, shape: tuple[int, ...], dtype: str, scale: float, zero: int = 0) -> int:
        index = made.tensor(name, shape, dtype)
        if "int" in dtype:
            made.quantize(index, scale, zero)
        return index

    def weights(name: str, shape: tuple[int, ...], dtype: str, scale: float) -> int:
        values: NDArray[Any] = rng.standard_normal(shape).astype(np.float32)
        if "int" in dtype:
            limit = {"int8": 127, "int16": 4000, "int32": 3000}[dtype]
            values = np.clip(values * limit / 2, -limit, limit).astype(dtype)
        index = made.constant(name, values)
        if "int" in dtype:
            made.quantize(index, scale)
        return index

    x = y = tensor("x", (batch, inputs), outer, 0.05, 7)
    for number in range(1 + twice):
        filters, width = units * rank, units if number else inputs
        memory_scale = 0.0003 if time == "int16" else 0.01
        zero = 11 if kept == "int8" else 0
        before = tensor(f"state{number}", (batch, filters * memory), kept, state, zero)
        made.graph.tensors[before].isVariable = True
        operands = [
            y,
            weights(f"features{number}", (filters, width), inner, 0.01),
            weights(f"time{number}", (filters, memory), time, memory_scale),
            weights(
                f"bias{number}",
                (units,),
                "int32" if outer == "int8" else outer,
                state * memory_scale,
            )
            if bias
            else -1,
            before,
        ]
        y = tensor(f"y{number}", (batch, units), outer, 0.1, -128)
        options = {"rank": rank, "fusedActivationFunction": fused}
        made.op("SVDF", operands, [y], version=3, options="SVDFOptions", **options)
    if change:
        change(made)
    return made.file([x], [y])


class TfliteSvdfTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_floats(self) -> None:
        forms: tuple[dict[str, Any], ...] = (
            {"kind": "float32", "rank": 2, "twice": True},
            {"kind": "float32", "bias": False, "batch": 2, "fused": _FUSED.NONE},
            {"kind": "float32", "fused": _FUSED.TANH},
            {"kind": "hybrid", "rank": 2, "fused": _FUSED.NONE},
        )
        for options in forms:
            with self.subTest(options):
                self.agrees(self.load(_file(**options)))

    def test_integers(self) -> None:
        forms: tuple[dict[str, Any], ...] = (
            {"twice": True, "units": 7},
            {"rank": 2, "batch": 2, "memory": 2},
            {"bias": False, "state": 0.01, "rank": 3},
        )
        for kind, scale in (("int16", 1 / 128), ("int8", 1.0)):
            for options in forms:
                changed = {"state": 0.05, **options}
                changed["state"] *= scale
                with self.subTest(kind, **changed):
                    model = self.load(_file(kind, **changed))
                    self.assertGreater(len(np.unique(np.stack(model.golden.outputs))), 16)
                    self.agrees(model)

    def test_a_state_of_int8_is_rounded(self) -> None:
        """A filter's number is 100 times its input, in steps of 30 that end at 127 - 11."""

        def fixed(made: Graph) -> None:
            for name, value in ((b"features0", 100), (b"time0", 1)):
                (tensor,) = (each for each in made.graph.tensors if each.name == name)
                tensor.quantization.scale = [1.0]
                tensor.buffer = made.buffer(np.full(tensor.shape, value, np.int8))
            for tensor in made.graph.tensors:
                if tensor.name in (b"x", b"y0"):
                    tensor.quantization.scale, tensor.quantization.zeroPoint = [1.0], [0]
                if tensor.name == b"y0":
                    tensor.quantization.scale = [30.0]

        data = _file("int8", units=1, inputs=1, memory=2, state=30.0, bias=False, change=fixed)
        calls = "; ".join(
            (
                "x = lambda v: (np.full((1, 1), v, np.int8),)",
                "return Cases((x(1), x(2), x(127), x(-128), x(-128)), Exact())",
            )
        )
        model = self.load(data, calls)
        self.assertEqual(
            [int(y.item()) for (y,) in model.golden.outputs],
            [3, 3 + 7, 7 + 116, 116 - 128 - 11, -128],
        )
        self.agrees(model)

    def test_states_go_on(self) -> None:
        model = self.load(_file("float32", fused=_FUSED.NONE, bias=False))
        calls = model.golden.calls
        self.assertEqual(
            calls[:3], (GoldenCall(0, True), GoldenCall(0, False), GoldenCall(0, False))
        )
        same = "x = np.ones((1, 6), np.float32); return Cases(((x,),) * 7, Exact())"
        outputs = self.load(
            _file("float32", fused=_FUSED.NONE), same.replace("Exact()", "Tolerance(1e-5, 1e-5)")
        ).golden.outputs
        for index in range(4):
            self.assertFalse(np.array_equal(outputs[index][0], outputs[index + 1][0]))
        np.testing.assert_allclose(outputs[4][0], outputs[6][0], rtol=1e-5)

    def test_what_is_refused(self) -> None:
        def edited(name: str, **changes: Any) -> Any:
            def change(made: Graph) -> None:
                (tensor,) = (each for each in made.graph.tensors if each.name == name.encode())
                for key, value in changes.items():
                    setattr(tensor, key, value)

            return change

        def zero(made: Graph) -> None:
            made.quantize(made.graph.operators[0].inputs[1], 1.0, 1)

        def shared(made: Graph) -> None:
            first, second = made.graph.operators
            second.inputs[4] = first.inputs[4]

        def followed(made: Graph) -> None:
            x, y = made.graph.operators[0].inputs[0], made.tensor("z", (1, 1, 4))
            lstm = "UnidirectionalSequenceLSTM"
            made.op("UNIDIRECTIONAL_SEQUENCE_LSTM", [x], [y], options=f"{lstm}Options")

        def computed(made: Graph) -> None:
            svdf = made.graph.operators[0]
            svdf.inputs[1] = svdf.inputs[0]

        wrong = (
            ("float32", "beside op 'UNIDIRECTIONAL_SEQUENCE_LSTM'", followed),
            ("int16", "on tensors of these types", edited("y0", type=schema.TensorType.INT32)),
            ("int16", "with weights or a state", zero),
            ("int16", "with operands of shapes that do not match", edited("state0", shape=[1, 2])),
            ("int16", "without the scales", edited("state0", quantization=None)),
            ("int16", "with weights that are no constants", computed),
        )
        for kind, message, change in wrong:
            data = _file(kind, change=change)
            self.rejects("op-rejected", f"'SVDF' {message}", "(at y0 in model.tflite)", data=data)
        for name, changes in (("state0", {"isVariable": False}), ("features0", {"buffer": 0})):
            data = _file("int16", change=edited(name, **changes))
            self.rejects("bad-file", f"reads '{name}' before an op makes it", data=data)
        self.rejects(
            "op-rejected", "not its own", data=_file("int8", twice=True, units=6, change=shared)
        )
        self.rejects("op-rejected", "with scales", data=_file("int8", state=1e-9))
        self.rejects("op-rejected", "that do not match", data=_file("int8", memory=1))
        for kind, fused in (("float32", _FUSED.SIGN_BIT), ("int8", _FUSED.NONE)):
            data = _file(kind, fused=fused)
            self.rejects("op-rejected", "with such an activation", data=data)


if __name__ == "__main__":
    unittest.main()
