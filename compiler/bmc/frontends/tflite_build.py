"""Adds tensors, constants and ops to a model of TFLite's schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bmc.dtype import Array


def empty() -> Any:
    """Returns a model of one graph without ops."""
    from ai_edge_litert.schema_py_generated import BufferT, ModelT, SubGraphT

    model, graph = ModelT(), SubGraphT()
    model.version, model.buffers, model.operatorCodes, model.subgraphs = 3, [BufferT()], [], [graph]
    graph.tensors, graph.operators = [], []
    return model


def quantize(graph: Any, tensor: int, scale: float, zero_point: int = 0) -> None:
    """Gives a tensor a scale and a zero point."""
    from ai_edge_litert.schema_py_generated import QuantizationParametersT

    quantization = QuantizationParametersT()
    quantization.scale, quantization.zeroPoint = [scale], [zero_point]
    graph.tensors[tensor].quantization = quantization


def add_buffer(model: Any, values: Array) -> int:
    """Returns the index of a new buffer."""
    from ai_edge_litert.schema_py_generated import BufferT

    buffer = BufferT()
    buffer.data = np.frombuffer(values.tobytes(), np.uint8)
    model.buffers.append(buffer)
    return len(model.buffers) - 1


def add_tensor(graph: Any, name: str, shape: Sequence[int], kind: str = "float32") -> int:
    """Returns the index of a new tensor; `kind` is NumPy's name of its type."""
    from ai_edge_litert.schema_py_generated import TensorT, TensorType

    tensor = TensorT()
    tensor.name, tensor.type = name.encode(), getattr(TensorType, kind.upper())
    tensor.shape, tensor.hasRank = [int(size) for size in shape], True
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1


def add_constant(model: Any, graph: Any, name: str, values: Array) -> int:
    """Returns the index of a new tensor with these values."""
    index = add_tensor(graph, name, values.shape, values.dtype.name)
    graph.tensors[index].buffer = add_buffer(model, values)
    return index


def op(
    model: Any,
    kind: str,
    inputs: Sequence[int],
    outputs: Sequence[int],
    version: int = 1,
    options: Any = None,
) -> Any:
    """Returns a new op, which no graph has yet.

    Args:
      model: the model, which gets its code.
      kind: TFLite's name.
      inputs, outputs: tensors.
      version: the version of the op.
      options: an object of the schema, None for an op that has none.
    """
    from ai_edge_litert.schema_py_generated import (
        BuiltinOperator,
        BuiltinOptions,
        OperatorCodeT,
        OperatorT,
    )

    code, made = OperatorCodeT(), OperatorT()
    code.builtinCode, code.version = getattr(BuiltinOperator, kind), version
    # Older readers know this field, which has room for 127 operators.
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    model.operatorCodes.append(code)
    made.opcodeIndex = len(model.operatorCodes) - 1
    made.inputs, made.outputs = [*inputs], [*outputs]
    if options is not None:
        made.builtinOptions = options
        made.builtinOptionsType = getattr(BuiltinOptions, type(options).__name__.removesuffix("T"))
    return made
