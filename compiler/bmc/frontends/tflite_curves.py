"""LOGISTIC and TANH of int16 as LiteRT's reference kernels compute them.

Both interpolate in one table of sigmoid(i / 24) for i from 0 to 255, as numbers of 16 bits. They multiply the input so
that it counts steps of 1 / 24 / 512 (LOGISTIC) or 1 / 48 / 256 (TANH), and mirror the table for negative ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import tflite_build, tflite_litert, tflite_schema, tflite_text
from bmc.frontends.tflite_file import TfliteFile
from bmc.frontends.tflite_text import constant

# Op -> bits of the input between two entries of the table, the value behind the last one, and how values become
# results: what is taken off before they are mirrored, what is added for rounding, and bits that they lose.
_FORMS = {
    "LOGISTIC": (9, 0x7FFF << 10, 1 << 24, (1 << 24) + (1 << 9), 10),
    "TANH": (8, 0xFFFF << 8, 1 << 23, 1 << 7, 8),
}
_ENTRIES = 256
# The scale with which TANH counts in the table's own steps, 64 inputs to a step; just above 1 / 3072.
_OWN_SCALE = float(np.nextafter(np.float32(1 / 3072), np.float32(1)))
_INPUTS_PER_ENTRY = 64


def curves(file: TfliteFile) -> dict[str, tuple[str, float]]:
    """Returns the kind and the scale of the input of each such op, by the name of the op's output."""
    from ai_edge_litert.schema_py_generated import TensorType

    found: dict[str, tuple[str, float]] = {}
    for graph in file.model.subgraphs:
        for op in graph.operators:
            kind = tflite_schema.op_kind(file.model, op)
            if kind in _FORMS and len(op.inputs) and len(op.outputs):
                given, made = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
                if made.type == TensorType.INT16 and tflite_schema.is_quantized(given):
                    scale = float(given.quantization.scale[0])
                    found[tflite_schema.text(made.name)] = (kind, scale)
    return found


def corrections(
    op: Any, name: str, found: dict[str, tuple[str, float]]
) -> Iterator[Callable[[], None]]:
    """Yields the change of an operation of the converter's that computes tensor `name`."""
    if op.name == "tosa.table" and name in found:
        (use,) = op.results[0].uses
        yield partial(_replace, use.owner.operation, op.operands[0], *found[name])


def _replace(rescale: Any, x: Any, kind: str, scale: float) -> None:
    made = x.type
    shape = list(made.shape)
    loops = ", ".join(f"d{axis}" for axis in range(len(shape)))
    multiplier, shift = _multiplier(scale)
    half = 1 << (shift - 1) if shift else 0
    bits, most, start, rounding, lost = _FORMS[kind]
    text = f"""
func.func @curve(%x: {made}) -> {made} {{
  %table = {constant(_table())}
  %empty = tensor.empty() : {made}
  %curve = linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>, affine_map<({loops}) -> ({loops})>],
    iterator_types = [{", ".join(['"parallel"'] * len(shape))}]}} ins(%x : {made}) outs(%empty : {made}) {{
  ^element(%number: i16, %old: i16):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %wide = arith.extsi %number : i16 to i32
    %multiplier = arith.constant {multiplier} : i32
    %half = arith.constant {half} : i32
    %shift = arith.constant {shift} : i32
    %product = arith.muli %wide, %multiplier : i32
    %up = arith.addi %product, %half : i32
    %steps = arith.shrsi %up, %shift : i32
    %is_negative = arith.cmpi slt, %steps, %zero : i32
    %opposite = arith.subi %zero, %steps : i32
    %size = arith.select %is_negative, %opposite, %steps : i32
    %bits = arith.constant {bits} : i32
    %entry = arith.shrui %size, %bits : i32
    %last = arith.constant {_ENTRIES - 1} : i32
    %is_far = arith.cmpi uge, %entry, %last : i32
    %before_last = arith.subi %last, %one : i32
    %near = arith.minui %entry, %before_last : i32
    %next = arith.addi %near, %one : i32
    %i = arith.index_cast %near : i32 to index
    %j = arith.index_cast %next : i32 to index
    %a = tensor.extract %table[%i] : tensor<{_ENTRIES}xi16>
    %b = tensor.extract %table[%j] : tensor<{_ENTRIES}xi16>
    %from = arith.extui %a : i16 to i32
    %to = arith.extui %b : i16 to i32
    %mask = arith.constant {(1 << bits) - 1} : i32
    %part = arith.andi %size, %mask : i32
    %slope = arith.subi %to, %from : i32
    %risen = arith.muli %part, %slope : i32
    %base = arith.shli %from, %bits : i32
    %between = arith.addi %base, %risen : i32
    %most = arith.constant {most} : i32
    %value = arith.select %is_far, %most, %between : i32
    %middle = arith.constant {start} : i32
    %less = arith.subi %value, %middle : i32
    // What is mirrored rounds the other way.
    %mirrored = arith.subi %zero, %less : i32
    %ones = arith.subi %mirrored, %one : i32
    %signed = arith.select %is_negative, %ones, %less : i32
    %rounding = arith.constant {rounding} : i32
    %rounded = arith.addi %signed, %rounding : i32
    %lost = arith.constant {lost} : i32
    %short = arith.shrsi %rounded, %lost : i32
    %result = arith.trunci %short : i32 to i16
    linalg.yield %result : i16
  }} -> {made}
  return %curve : {made}
}}"""
    tflite_text.replace(rescale, text, [x])


def _multiplier(scale: float) -> tuple[int, int]:
    """Returns what counts the table's steps in inputs of this scale, and the shift to the right behind it."""
    multiplier, shift = scale * 3 * 2**12, 0
    while multiplier <= (2**15 - 1) / 2 and shift <= 30:
        multiplier, shift = multiplier * 2, shift + 1
    return int(multiplier), shift


@functools.cache
def _table() -> Array:
    """Returns the table, from what LiteRT's TANH makes of its entries."""
    model = tflite_build.empty()
    (graph,) = model.subgraphs
    x, y = (tflite_build.add_tensor(graph, name, [_ENTRIES], "int16") for name in "xy")
    for tensor, scale in ((x, _OWN_SCALE), (y, 2.0**-15)):
        tflite_build.quantize(graph, tensor, scale)
    graph.operators.append(tflite_build.op(model, "TANH", [x], [y]))
    graph.inputs, graph.outputs = [x], [y]
    litert = tflite_litert.interpreter(tflite_schema.pack(model, 1024), "TANH")
    litert.allocate_tensors()
    litert.set_tensor(x, np.arange(_ENTRIES, dtype=np.int16) * _INPUTS_PER_ENTRY)
    litert.invoke()
    table: Array = litert.get_tensor(y).astype(np.int32) + 2**15
    # The last entry is only there to interpolate towards; at it, LiteRT's result is saturated.
    table[-1] = 2**16 - 1
    return table.astype(np.uint16)
