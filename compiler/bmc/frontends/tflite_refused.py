"""Refuses what the converter to TOSA, or LiteRT itself, computes otherwise than bmc can, int16 most of all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bmc import errors
from bmc.errors import BmcError
from bmc.frontends import (
    tflite_counts,
    tflite_int16,
    tflite_schema,
    tflite_signal,
    tflite_svdf,
    tflite_wide_softmax,
)
from bmc.frontends.tflite_file import TfliteFile
from bmc.frontends.tflite_int16 import OTHERWISE

# Ops whose int16 the tests hold to LiteRT's, bit for bit.
_EXACT = {
    *tflite_int16.KINDS, "ABS", "ADD", "AVERAGE_POOL_2D", "BATCH_TO_SPACE_ND", "BROADCAST_TO",
    "CONCATENATION", "DEQUANTIZE", "DYNAMIC_UPDATE_SLICE", "EXP", "EXPAND_DIMS", "FILL", "GATHER",
    "GATHER_ND", "GELU", "LEAKY_RELU", "LOG", "LOGISTIC", "MATRIX_DIAG", "MATRIX_SET_DIAG",
    "MAXIMUM", "MAX_POOL_2D", "MEAN", "MINIMUM", "MIRROR_PAD", "MUL", "PACK", "PAD", "PADV2",
    "QUANTIZE", "RANK", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "RELU", "RELU6", "RESHAPE",
    "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_SEQUENCE", "REVERSE_V2", "RSQRT",
    "SELECT", "SELECT_V2", "SHAPE", "SLICE", "SOFTMAX", "SPACE_TO_BATCH_ND", "SPLIT", "SPLIT_V",
    "SQUEEZE", "STRIDED_SLICE", "SUB", "SUM", "TANH", "TILE", "TOPK_V2", "TRANSPOSE", "UNPACK",
    "ZEROS_LIKE",
}  # fmt: skip
# Ops with as many elements in their first result as the data has of a kind.
_COUNTING = ("UNIQUE", "WHERE")
# Ops in which int16 may also be a state that LiteRT keeps to itself, or that only pass on what they get.
_ANY = {
    "ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM", "VAR_HANDLE",
}  # fmt: skip


def check(file: TfliteFile) -> None:
    """Raises BmcError for the first op or tensor that found() yields."""
    errors.raise_first(found(file))


def found(file: TfliteFile) -> Iterator[BmcError]:
    """Yields each op on int16 that bmc cannot compute as LiteRT does, and each SVDF that bmc does not know."""
    known = tflite_wide_softmax.results(file.model)
    counted = [id(op) for op in tflite_counts.found(file.model).values()]
    for graph in file.model.subgraphs:
        for tensor in filter(tflite_schema.has_scale_of_zero, graph.tensors):
            if tflite_schema.weight_type(tensor) in ("int8", "int16"):
                yield BmcError(
                    "unsupported-quantization",
                    f"tensor '{tflite_schema.text(tensor.name)}' in '{file.name}' has a scale of 0",
                    hint="convert the model again with inputs for which it is not always 0",
                )
        for tensor in filter(_is_int16, graph.tensors):
            name = tflite_schema.text(tensor.name)
            if np.any(tensor.quantization.zeroPoint) and name not in known:
                yield BmcError(
                    "unsupported-quantization",
                    f"tensor '{name}' in '{file.name}' is quantized to int16 with a zero point",
                    hint=OTHERWISE,
                )
        read = {*graph.outputs, *(index for op in graph.operators for index in op.inputs)}
        for op in graph.operators:
            kind = tflite_schema.op_kind(file.model, op)
            if kind in _COUNTING and read.intersection(op.outputs[:1]) and id(op) not in counted:
                yield BmcError(
                    "dynamic-shape",
                    f"op '{kind}' gives as many results as it finds, and bmc needs to know how many these are",
                    where=f"{tflite_schema.text(graph.tensors[op.outputs[0]].name)} in {file.name}",
                    hint="compute with all elements, and with zeros for those that do not count",
                )
            yield from _of_op(file, graph, op)
    yield from tflite_svdf.found(file)
    yield from tflite_signal.found(file)
    for _, sums in tflite_int16.found(file):
        if isinstance(sums, BmcError):
            yield sums


def _of_op(file: TfliteFile, graph: Any, op: Any) -> Iterator[BmcError]:
    kind = tflite_schema.op_kind(file.model, op)
    tensors = [graph.tensors[index] for index in (*op.inputs, *op.outputs) if index >= 0]
    if kind in _ANY or not any(map(_is_int16, tensors)):
        return
    why = ""
    if kind not in _EXACT:
        why = "is not computed as LiteRT does"
    elif getattr(op.builtinOptions, "potScaleInt16", False):
        why = "with potScaleInt16 rounds otherwise than with other scales"
    if why:
        yield BmcError(
            "unsupported-quantization",
            f"op '{kind}' on int16 {why}",
            where=f"{tflite_schema.text(tensors[-1].name)} in {file.name}",
            hint=OTHERWISE,
        )


def _is_int16(tensor: Any) -> bool:
    from ai_edge_litert.schema_py_generated import TensorType

    return tensor.type == TensorType.INT16 and tflite_schema.is_quantized(tensor)
