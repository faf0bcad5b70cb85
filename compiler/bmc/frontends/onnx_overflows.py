"""Keeps onnxruntime's products of bytes from overflowing on CPUs with AVX2 and without VNNI.

There, its kernels add two products of an unsigned and a signed byte in 16 bits, which saturate; those of two unsigned
bytes do not. So what onnxruntime runs has unsigned weights, with zero points that moved as well. The model itself stays
as it is, and other CPUs give the same answers as before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.frontends import onnx_graph

# For each op: places of weights and of their zero point, and of the zero point of activations if these may be signed.
_PLACES: dict[str, tuple[tuple[int, int, int | None], ...]] = {
    "DynamicQuantizeLSTM": ((1, 9, None), (2, 11, None)),
    "DynamicQuantizeMatMul": ((1, 3, None),),
    "MatMulInteger": ((1, 3, None),),
    "MatMulIntegerToFloat": ((1, 5, None),),
    "QGemm": ((3, 5, 2),),
    "QLinearConv": ((3, 5, 2),),
    "QLinearMatMul": ((3, 5, 2),),
}
_MOVED = 128


def with_unsigned_weights(model: Any) -> Any:
    """Returns a model whose constant weights are unsigned where activations are."""
    if not any(node.op_type in _PLACES for node in model.graph.node):
        return model
    made = type(model)()
    made.CopyFrom(model)
    constants = onnx_graph.constants(made.graph)
    for number, node in enumerate(made.graph.node):
        for place, zero, given in _PLACES.get(node.op_type, ()):
            if given is None or _dtype(constants, node, given) == np.uint8:
                _move(made.graph, constants, node, (place, zero), f"bmc_unsigned_{number}_{place}")
    return made


def _move(
    graph: Any, constants: dict[str, Any], node: Any, places: tuple[int, int], name: str
) -> None:
    from onnx import numpy_helper

    weights, zero = (_value(constants, node, place) for place in places)
    has_zero = len(node.input) > places[1] and node.input[places[1]]
    if weights is None or weights.dtype != np.int8 or (has_zero and zero is None):
        return
    node.input.extend([""] * (places[1] + 1 - len(node.input)))
    zero = np.zeros((), np.int8) if zero is None else zero
    for place, value in zip(places, (weights, zero), strict=True):
        moved = (value.astype(np.int16) + _MOVED).astype(np.uint8)
        node.input[place] = f"{name}_{place}"
        graph.initializer.append(numpy_helper.from_array(moved, node.input[place]))


def _value(constants: dict[str, Any], node: Any, place: int) -> Any:
    from onnx import numpy_helper

    name = node.input[place] if len(node.input) > place else ""
    return numpy_helper.to_array(constants[name]) if name in constants else None


def _dtype(constants: dict[str, Any], node: Any, place: int) -> Any:
    value = _value(constants, node, place)
    return None if value is None else value.dtype
