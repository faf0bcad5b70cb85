"""bfloat16 at the ends of a graph that onnxruntime runs: its Python cannot exchange such arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc import spec
from bmc.dtype import DType

_WRAPPED = "bmc_bf16_"


def with_f32_ends(model: Any) -> Any:
    """Returns a model with f32 in place of every bfloat16 that the graph takes or returns, and a Cast beside it.

    f32 holds every bfloat16, so both ways are exact.
    """
    from onnx import ModelProto, TensorProto, helper

    if not any(_is_bf16(each) for each in (*model.graph.input, *model.graph.output)):
        return model
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    constants = {each.name for each in graph.initializer}
    inputs = [each for each in graph.input if each.name not in constants and _is_bf16(each)]
    outputs = [each for each in graph.output if _is_bf16(each)]
    casts = []
    for value in inputs:
        inner, value.name = value.name, _WRAPPED + value.name
        casts.append(helper.make_node("Cast", [value.name], [inner], to=TensorProto.BFLOAT16))
    for cast in reversed(casts):
        graph.node.insert(0, cast)
    for value in outputs:
        inner, value.name = value.name, _WRAPPED + "out_" + value.name
        graph.node.append(helper.make_node("Cast", [inner], [value.name], to=TensorProto.FLOAT))
    for value in (*inputs, *outputs):
        value.type.tensor_type.elem_type = TensorProto.FLOAT
    return made


def taken(session: Any, case: spec.Case) -> dict[str, Any]:
    """Returns what a session of such a model takes for a case of the model itself."""
    return {
        each.name: array.astype(np.float32) if each.name.startswith(_WRAPPED) else array
        for each, array in zip(session.get_inputs(), case, strict=True)
    }


def returned(session: Any, results: Any) -> spec.Case:
    """Returns the arrays of the model itself for what such a session returned."""
    return tuple(
        array.astype(DType.BF16.numpy) if each.name.startswith(_WRAPPED) else array
        for each, array in zip(session.get_outputs(), results, strict=True)
    )


def _is_bf16(value: Any) -> bool:
    from onnx import TensorProto

    return bool(value.type.tensor_type.elem_type == TensorProto.BFLOAT16)
