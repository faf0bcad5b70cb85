"""Builds .tflite files op by op, without TensorFlow, for tests of what its converter does not write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import NDArray

_TYPES = {
    "float32": schema.TensorType.FLOAT32,
    "float16": schema.TensorType.FLOAT16,
    "int8": schema.TensorType.INT8,
    "uint8": schema.TensorType.UINT8,
    "int16": schema.TensorType.INT16,
    "int32": schema.TensorType.INT32,
    "int64": schema.TensorType.INT64,
    "uint32": schema.TensorType.UINT32,
    "uint64": schema.TensorType.UINT64,
    "bool": schema.TensorType.BOOL,
    "complex64": schema.TensorType.COMPLEX64,
}


class Graph:
    """A model under construction; `model` and `graph` are objects of the schema, and tensors are indices."""

    def __init__(self) -> None:
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.subgraphs = 3, [self.graph]
        self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []
        self.graph.tensors, self.graph.operators = [], []
        self.graph.name = b"main"

    def tensor(self, name: str, shape: Sequence[int], dtype: str = "float32") -> int:
        """Adds an input or a result."""
        new = schema.TensorT()
        new.name, new.shape, new.type = name.encode(), [*shape], _TYPES[dtype]
        self.graph.tensors.append(new)
        return len(self.graph.tensors) - 1

    def constant(self, name: str, value: NDArray[Any]) -> int:
        index = self.tensor(name, value.shape, value.dtype.name)
        self.graph.tensors[index].buffer = self.buffer(value)
        return index

    def buffer(self, value: NDArray[Any]) -> int:
        new = schema.BufferT()
        new.data = np.frombuffer(value.tobytes(), np.uint8)
        self.model.buffers.append(new)
        return len(self.model.buffers) - 1

    def quantize(self, tensor: int, scale: float, zero_point: int = 0) -> None:
        quantization = schema.QuantizationParametersT()
        quantization.scale, quantization.zeroPoint = [scale], [zero_point]
        self.graph.tensors[tensor].quantization = quantization

    def op(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        version: int = 1,
        **options: Any,
    ) -> None:
        """Adds an op of TFLite's own, with the options of its class in the schema, if it has one."""
        code, new = schema.OperatorCodeT(), schema.OperatorT()
        code.builtinCode = getattr(schema.BuiltinOperator, kind)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), version
        self.model.operatorCodes.append(code)
        new.opcodeIndex = len(self.model.operatorCodes) - 1
        new.inputs, new.outputs = [*inputs], [*outputs]
        if options:
            name = options.pop("options")
            new.builtinOptionsType = getattr(schema.BuiltinOptions, name)
            new.builtinOptions = getattr(schema, name + "T")()
            for option, value in options.items():
                setattr(new.builtinOptions, option, value)
        self.graph.operators.append(new)

    def custom(self, name: str, inputs: Sequence[int], outputs: Sequence[int], data: bytes) -> None:
        """Adds a custom op."""
        self.op("CUSTOM", inputs, outputs)
        self.model.operatorCodes[-1].customCode = name.encode()
        self.graph.operators[-1].customOptions = np.frombuffer(data, np.uint8)

    def file(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        self.graph.inputs, self.graph.outputs = [*inputs], [*outputs]
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
