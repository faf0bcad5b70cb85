"""Tables for functions of one integer, from LiteRT's own results, as MLIR.

The converter to TOSA lacks some of these ops, and computes the tables of others in floats. LiteRT's reference kernels
compute in integers and round some values differently at some scales. Of int8, a table has all 256 results. Of int16,
LiteRT itself interpolates between every 128th, for which it has a table.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bmc.dtype import Array
from bmc.frontends import tflite_build, tflite_litert, tflite_schema
from bmc.frontends.tflite_own_text import Operation, Tensor, Text
from bmc.frontends.tflite_text import SINGLE_ROUND

# Ops that LiteRT refuses to compute of numbers below zero.
_ROOTS = ("RSQRT", "SQRT")
# Ops that interpolate in such a table of int16.
_INTERPOLATED = ("EXP", "GELU", "LOG", "RSQRT")
# Bits of an int16 between two entries.
_STEP = 7


def _table(op: Operation) -> str:
    return {"int8": _of_bytes, "int16": _of_words}.get(op.inputs[0].dtype, lambda _: "")(op)


def _of_bytes(op: Operation) -> str:
    (x,), (made,) = op.inputs, op.outputs
    if not (x.scale and made.scale and made.dtype == "int8"):
        return ""
    return _looked_up(op, _run(op, np.arange(-128, 128)))


def _of_words(op: Operation) -> str:
    (x,), (made,) = op.inputs, op.outputs
    if op.kind not in _INTERPOLATED or not (x.scale and made.scale and made.dtype == "int16"):
        return ""
    entries = _run(op, np.arange(-(2**15), 2**15, 1 << _STEP))
    # LiteRT only interpolates towards the last entry.
    parts = np.arange(1 << _STEP)
    wanted = _run(op, 2**15 - parts[::-1] - 1).astype(np.int64)
    before = int(entries[-1])
    rise = (wanted[-1] - before) * (1 << _STEP) // parts[-1]
    for slope in range(rise - 2, rise + 4):
        if (before + ((slope * parts + (1 << (_STEP - 1))) >> _STEP) == wanted).all():
            return _looked_up(op, np.append(entries, before + slope).astype(np.int16))
    return ""


def _looked_up(op: Operation, entries: Array) -> str:
    text, made = Text(op), op.outputs[0]
    (x,) = text.inputs
    table = text.constant(entries)
    is_wide = entries.dtype == np.int16
    between = text.operation(
        f'"tosa.table"(%{x.name}, %{table.name}) : ({x.type}, {table.type}) ->',
        made.shape,
        "i32" if is_wide else "i8",
    )
    if not is_wide:
        return text.function(between)
    # 2^30 times what is between two entries, shifted to the right; TOSA has no other way to round it.
    numbers = np.array([2**30]), np.array([30 + _STEP])
    return text.function(text.rescaled(between, made.element, *numbers, SINGLE_ROUND))


def _run(op: Operation, values: Array) -> Array:
    """Returns LiteRT's results."""
    if op.kind in _ROOTS:
        values = np.maximum(values, op.inputs[0].zero)
    model = tflite_build.empty()
    (graph,) = model.subgraphs

    def add(name: str, tensor: Tensor) -> int:
        index = tflite_build.add_tensor(graph, name, values.shape, tensor.dtype)
        tflite_build.quantize(graph, index, float(tensor.scale), tensor.zero)
        return index

    x, y = add("x", op.inputs[0]), add("y", op.outputs[0])
    made = tflite_build.op(model, op.kind, [x], [y], op.version, op.options)
    graph.operators, graph.inputs, graph.outputs = [made], [x], [y]
    litert = tflite_litert.interpreter(tflite_schema.pack(model, 1024), op.kind)
    litert.allocate_tensors()
    litert.set_tensor(x, values.astype(op.inputs[0].dtype))
    litert.invoke()
    results: Array = litert.get_tensor(y)
    return results


KINDS: dict[str, Callable[[Operation], str]] = dict.fromkeys(
    ("ABS", "ELU", "HARD_SWISH", "LOGISTIC", "SQRT", "TANH", *_INTERPOLATED), _table
)
