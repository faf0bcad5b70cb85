"""ONNX's recurrent layers, one attribute or optional input at a time: the node tests have few of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from case import Case

from bmc import spec
from bmc.artifacts import ImportedModel
from bmc.dtype import Array
from bmc.frontends import onnx
from bmc.frontends.options import ImportOptions

_STEPS, _BATCH, _INPUTS, _HIDDEN = 4, 2, 3, 4
_GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}
_OPSET = 17
# What is not a default. An input's name stands for itself.
_ALL: tuple[dict[str, Any], ...] = (
    {"direction": "reverse"},
    {"direction": "bidirectional"},
    {"clip": 0.5},
    {"layout": 1},
    {"sequence_lens": [_STEPS] * _BATCH},
    {"sequence_lens": [_STEPS, _STEPS - 2]},
)
_SOME: dict[str, tuple[dict[str, Any], ...]] = {
    "GRU": ({"linear_before_reset": 1}, {"activations": ["Sigmoid", "Relu"]}),
    "LSTM": (
        {"input_forget": 1},
        {"P": "peepholes"},
        {"activations": ["Sigmoid", "Relu", "Tanh"]},
        {"activations": ["HardSigmoid", "Tanh", "Tanh"]},
    ),
    "RNN": ({"activations": ["Relu"]}, {"activations": ["LeakyRelu"]}),
}


def cases() -> Iterator[Case]:
    """Yields a case for every setting of every layer."""
    for op, settings in _SOME.items():
        for setting in (*_ALL, *settings):
            ((key, value),) = setting.items()
            shown = value if isinstance(value, str) else str(value).replace("'", "")
            name = f"{op} ({key})" if key == "P" else f"{op} ({key}={shown})"
            yield Case(op, "float", f"recurrent/{name}", functools.partial(_load, op, setting))


def _load(op: str, setting: dict[str, Any], out: Path) -> ImportedModel:
    rng = np.random.default_rng(0)

    def random(*shape: int) -> Array:
        return (rng.standard_normal(shape) / 2).astype(np.float32)

    directions = 2 if setting.get("direction") == "bidirectional" else 1
    gates, first = _GATES[op] * _HIDDEN, not setting.get("layout")
    state = (directions, _BATCH, _HIDDEN) if first else (_BATCH, directions, _HIDDEN)
    weights = {
        "W": random(directions, gates, _INPUTS),
        "R": random(directions, gates, _HIDDEN),
        "B": random(directions, 2 * gates),
        "sequence_lens": np.array(setting.get("sequence_lens", ()), np.int32),
        "h": random(*state),
        "c": random(*state),
        "P": random(directions, 3 * _HIDDEN),
    }
    inputs = ["W", "R", "B", "sequence_lens" if "sequence_lens" in setting else "", "h"]
    if op == "LSTM":
        inputs += ["c", "P" if "P" in setting else ""]
    attributes = {key: value for key, value in setting.items() if key not in weights}
    data = _model(op, inputs, weights, attributes, first)
    x = random(*((_STEPS, _BATCH) if first else (_BATCH, _STEPS)), _INPUTS)
    model = spec.ModelSpec(
        spec.ModelFile(".onnx", data), cases=((x,),), tolerance=spec.Tolerance(1e-5, 1e-4)
    )
    return onnx.import_spec(model, f"{op.lower()}.onnx", ImportOptions(), out)


def _model(
    op: str, inputs: list[str], weights: dict[str, Array], attributes: dict[str, Any], first: bool
) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    shape = (_STEPS, _BATCH, _INPUTS) if first else (_BATCH, _STEPS, _INPUTS)
    node = helper.make_node(op, ["x", *inputs], ["y"], hidden_size=_HIDDEN, **attributes)
    graph = helper.make_graph(
        [node],
        op,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights[name], name) for name in inputs if name],
    )
    opsets = [helper.make_opsetid("", _OPSET)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
