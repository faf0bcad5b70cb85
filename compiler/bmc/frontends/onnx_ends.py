"""bfloat16 and narrower numbers at the ends of a graph that onnxruntime runs, whose Python exchanges no such arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc import spec
from bmc.dtype import DType
from bmc.frontends import onnx_codes

_WRAPPED = "bmc_end_"


def with_f32_ends(model: Any) -> Any:
    """Returns a model with f32 in place of every such number that the graph takes or returns, and a Cast beside it.

    f32 holds all of them, so both ways are exact.
    """
    from onnx import ModelProto, TensorProto, helper

    if not any(_type(each) for each in (*model.graph.input, *model.graph.output)):
        return model
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    constants = {each.name for each in graph.initializer}
    inputs = [each for each in graph.input if each.name not in constants and _type(each)]
    outputs = [each for each in graph.output if _type(each)]
    casts = []
    for value in inputs:
        inner, value.name = value.name, _WRAPPED + value.name
        element = value.type.tensor_type.elem_type
        casts.append(helper.make_node("Cast", [value.name], [inner], to=element))
    for cast in reversed(casts):
        graph.node.insert(0, cast)
    for value in outputs:
        inner, value.name = value.name, _WRAPPED + "out_" + value.name
        graph.node.append(helper.make_node("Cast", [inner], [value.name], to=TensorProto.FLOAT))
    for value in (*inputs, *outputs):
        value.type.tensor_type.elem_type = TensorProto.FLOAT
    return made


def taken(model: Any, names: list[str], case: spec.Case) -> dict[str, Any]:
    """Returns what a session of such a model takes for a case of the model itself.

    Args:
      model: the model itself.
      names: those of its inputs.
      case: an array for each, with bytes for narrow numbers.
    """
    types = {value.name: _type(value) for value in model.graph.input}
    fed: dict[str, Any] = {}
    for name, array in zip(names, case, strict=True):
        if dtype := types[name]:
            fed[_WRAPPED + name] = onnx_codes.numbers(array, dtype).astype(np.float32)
        else:
            fed[name] = array
    return fed


def returned(model: Any, results: Any) -> spec.Case:
    """Returns the arrays of the model itself for what such a session returned."""
    types = map(_type, model.graph.output)
    return tuple(
        onnx_codes.codes(array.astype(dtype)) if dtype else array
        for array, dtype in zip(results, types, strict=True)
    )


def _type(value: Any) -> np.dtype[Any] | None:
    """Returns the element type of an input or output that onnxruntime's Python cannot exchange, None of any other."""
    from onnx import TensorProto

    element = value.type.tensor_type.elem_type
    return DType.BF16.numpy if element == TensorProto.BFLOAT16 else onnx_codes.narrow(element)
