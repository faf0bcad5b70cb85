"""SOFTMAX of int8 with a result of int16, whose zero point is the least number, and QUANTIZE of that to int32.

The converter to TOSA knows neither. So SOFTMAX gets a result of int8, of which a last shift makes 8 bits. This makes 16
bits there, and has QUANTIZE multiply them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bmc.frontends import tflite_schema, tflite_text
from bmc.frontends.tflite_text import DOUBLE_ROUND, tensor, tosa_constant

_ZERO_POINT, _MOST = -(2**15), 2**16 - 1
# Bits of the result that the converter leaves out.
_MORE = 8
# Larger products do not fit into 32 bits. TOSA has no shift for smaller scales.
_LEAST_SCALE, _MOST_SCALE = 2.0**-30, 2.0**14
_SCALE, _SMALL_ZERO_POINT = 1 / 256, -(2**7)


def results(model: Any) -> dict[str, Any]:
    """Returns the results of int16, by name, of each SOFTMAX that only QUANTIZE to int32 reads."""
    from ai_edge_litert.schema_py_generated import TensorType

    def is_read_well(graph: Any, index: int) -> bool:
        scale = graph.tensors[index].quantization.scale[0]
        readers = [op for op in graph.operators if index in op.inputs]
        made = [graph.tensors[op.outputs[0]] for op in readers if len(op.outputs)]
        kinds = {tflite_schema.op_kind(model, op) for op in readers}
        return kinds == {"QUANTIZE"} and all(
            tensor.type == TensorType.INT32
            and tflite_schema.is_quantized(tensor)
            and not np.any(tensor.quantization.zeroPoint)
            and _LEAST_SCALE < scale / tensor.quantization.scale[0] < _MOST_SCALE
            for tensor in made
        )

    found = {}
    for graph in model.subgraphs:
        for op in graph.operators:
            ends = (*op.inputs[:1], *op.outputs[:1])
            if tflite_schema.op_kind(model, op) != "SOFTMAX" or len(ends) != 2:
                continue
            given, made = (graph.tensors[index] for index in ends)
            wanted = (TensorType.INT8, TensorType.INT16)
            if (given.type, made.type) != wanted or not tflite_schema.is_quantized(made):
                continue
            points = made.quantization.zeroPoint
            if points is None or list(points) != [_ZERO_POINT] or ends[1] in graph.outputs:
                continue
            if is_read_well(graph, ends[1]):
                found[tflite_schema.text(made.name)] = made
    return found


def narrow(data: bytes) -> bytes:
    """Returns a file in which these results are of int8."""
    from ai_edge_litert.schema_py_generated import ModelT, TensorType

    model = ModelT.InitFromPackedBuf(data, 0)
    changed = results(model)
    for made in changed.values():
        made.type = TensorType.INT8
        made.quantization.scale, made.quantization.zeroPoint = [_SCALE], [_SMALL_ZERO_POINT]
    return tflite_schema.pack(model, len(data)) if changed else data


def scales(model: Any) -> dict[str, float]:
    """Returns what each QUANTIZE multiplies such results with, by the name of its output."""
    found, wide = {}, results(model)
    for graph in model.subgraphs:
        for op in graph.operators:
            if tflite_schema.op_kind(model, op) != "QUANTIZE":
                continue
            given, made = (graph.tensors[index] for index in (op.inputs[0], op.outputs[0]))
            if tflite_schema.text(given.name) in wide:
                before, after = (float(each.quantization.scale[0]) for each in (given, made))
                found[tflite_schema.text(made.name)] = before / after
    return found


def corrections(op: Any, name: str, scales: dict[str, float]) -> Iterator[Callable[[], None]]:
    """Yields the change of the operation that stands for the QUANTIZE with output `name`."""
    if op.name == "tosa.rescale" and name in scales:
        yield partial(_replace, op, scales[name])


def _replace(rescale: Any, scale: float) -> None:
    narrowed = rescale.operands[0].owner
    share, shift = narrowed.operands[0].owner.operands
    shape, shifts = list(share.type.shape), list(shift.type.shape)
    wide = tensor(shape, "i32")
    numbers = tflite_text.multipliers(np.array([scale]), 31)
    more, most = (np.full([1] * len(shape), value, np.int32) for value in (_MORE, _MOST))
    one = tensor(more.shape, "i32")
    bits = tensor(shifts, "i32")
    text = f"""
func.func @shares(%share: {wide}, %shift: {bits}) -> {wide} {{
  %more = {tosa_constant(more)}
  %most = {tosa_constant(most)}
  %less = "tosa.sub"(%shift, %more) : ({bits}, {one}) -> {bits}
  %whole = "tosa.arithmetic_right_shift"(%share, %less) <{{round = true}}> : ({wide}, {bits}) -> {wide}
  %limited = "tosa.minimum"(%whole, %most) : ({wide}, {one}) -> {wide}
{tflite_text.rescale("made", "limited", shape, ("i32", "i32"), *numbers, DOUBLE_ROUND)}
  return %made : {wide}
}}"""
    tflite_text.replace(rescale, text, [share, shift])
