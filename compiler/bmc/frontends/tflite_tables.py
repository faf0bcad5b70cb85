"""Tables for functions of one int8, with LiteRT's own result for each of the 256 values.

The converter to TOSA computes the table of such an op in floats. LiteRT's reference kernels compute in
integers and round some values differently at some scales.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import tflite_file, tflite_schema
from bmc.frontends.tflite_file import TfliteFile

# Ops that the converter turns into tables.
_KINDS = ("ELU", "EXP", "GELU", "HARD_SWISH", "LOG", "LOGISTIC", "RSQRT", "TANH")
_VALUES = np.arange(-128, 128, dtype=np.int8)


def tables(file: TfliteFile) -> dict[str, Array]:
    """Returns each op's results for -128 to 127, as int8 [256], by the name of the op's output."""
    from ai_edge_litert.schema_py_generated import BufferT, ModelT, SubGraphT, TensorType

    named = set().union(*(file.outputs_of(kind) for kind in _KINDS))
    model = ModelT.InitFromPackedBuf(file.data, 0)
    # A graph with only these ops, each with its own input.
    alone = SubGraphT()
    alone.tensors, alone.operators, names = [], [], []
    for graph in model.subgraphs:
        for op in graph.operators:
            ends = [graph.tensors[index] for index in (*op.inputs, *op.outputs)]
            name = tflite_schema.text(ends[-1].name) if ends else ""
            if name in named and [end.type for end in ends] == [TensorType.INT8] * 2:
                op.inputs, op.outputs = [len(alone.tensors)], [len(alone.tensors) + 1]
                alone.tensors += [_of_every_value(end) for end in ends]
                alone.operators.append(op)
                names.append(name)
    if not names:
        return {}
    alone.inputs = [op.inputs[0] for op in alone.operators]
    alone.outputs = [op.outputs[0] for op in alone.operators]
    model.subgraphs, model.buffers = [alone], [BufferT()]
    model.signatureDefs = model.metadata = None
    return dict(zip(names, _run(tflite_schema.pack(model, 4096), file.name), strict=True))


def _of_every_value(tensor: Any) -> Any:
    tensor = copy.copy(tensor)
    tensor.shape, tensor.shapeSignature, tensor.buffer = [_VALUES.size], None, 0
    return tensor


def _run(data: bytes, name: str) -> list[Array]:
    litert = tflite_file.interpreter(data, name)
    litert.allocate_tensors()
    for detail in litert.get_input_details():
        litert.set_tensor(detail["index"], _VALUES)
    litert.invoke()
    return [litert.get_tensor(detail["index"]) for detail in litert.get_output_details()]
