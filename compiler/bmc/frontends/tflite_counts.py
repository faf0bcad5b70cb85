"""Gives what WHERE finds, where it is an output, its largest size, and makes a further output count what is real.

LiteRT finds as much as there is, and zeros follow that in the expected outputs. For the target, the op gets a second
result, the count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import largest_sizes, tflite_build, tflite_schema, tflite_signal_ops
from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text, compare, element, index

_KIND = "WHERE"
_ELEMENTS = ("i1", "i8", "i32", "i64", "f32")


def found(model: Any) -> dict[int, Any]:
    """Returns the ops whose results are outputs of the main graph and nothing else, by place, in order."""
    graph = model.subgraphs[0]
    if tflite_signal_ops.has(model):
        return {}
    read = {int(index) for op in graph.operators for index in op.inputs}
    outputs = [int(index) for index in graph.outputs]
    ops = {
        outputs.index(int(op.outputs[0])): op
        for op in graph.operators
        if tflite_schema.op_kind(model, op) == _KIND
        if int(op.outputs[0]) not in read
        if outputs.count(int(op.outputs[0])) == 1
        if tflite_schema.shape(graph.tensors[op.inputs[0]])
    }
    return dict(sorted(ops.items()))


def names(model: Any, outputs: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of a model's own outputs with those of the counts behind them."""
    made = [*outputs]
    for place in found(model):
        made.append(largest_sizes.free(f"{outputs[place]}_count", made))
    return tuple(made)


def outputs(litert: Any, ops: Mapping[int, Any]) -> tuple[Array, ...]:
    """Returns the outputs of LiteRT's interpreter after a run, with zeros behind what it found, and the counts.

    Args:
      litert: the interpreter.
      ops: what found() returned.
    """
    tensors = {detail["index"]: detail for detail in litert.get_tensor_details()} if ops else {}
    made, counts = [], []
    for place, detail in enumerate(litert.get_output_details()):
        if place not in ops:
            made.append(litert.get_tensor(detail["index"]))
            continue
        count, rank = detail["shape"]
        size = math.prod(tensors[ops[place].inputs[0]]["shape"])
        made.append(np.zeros((size, rank), detail["dtype"]))
        # LiteRT does not give tensors without elements.
        if count:
            made[-1][:count] = litert.get_tensor(detail["index"])
        counts.append(np.array(count, np.int32))
    return (*made, *counts)


def bound(data: bytes) -> bytes:
    """Returns a file in which such ops give their largest results, and counts too; `data` has static shapes."""
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    graph, ops = model.subgraphs[0], found(model)
    if not ops:
        return data
    for op in ops.values():
        made = graph.tensors[op.outputs[0]]
        shape = tflite_schema.shape(graph.tensors[op.inputs[0]])
        made.shape, made.shapeSignature = [math.prod(shape), len(shape)], None
        name = f"{tflite_schema.text(made.name)}_count"
        count = tflite_build.add_tensor(graph, name, (), "int32")
        op.outputs = [op.outputs[0], count]
        graph.outputs = [*graph.outputs, count]
    model.signatureDefs = None
    return tflite_schema.pack(model, len(data))


def notes(
    names: Sequence[str], outputs: int, expected: Sequence[Array], model: Any
) -> Iterator[str]:
    """Yields a sentence for the user about each output that has its largest size.

    Args:
      names: those of all outputs.
      outputs: number of the model's own ones.
      expected: the outputs of a case.
      model: the file's.
    """
    for place, count in zip(found(model), names[outputs:], strict=True):
        yield largest_sizes.note(names[place], len(expected[place]), 0, count)


def _places(op: Operation) -> str:
    """WHERE with a count: element k of the result is the first place with k + 1 true elements up to there."""
    text = Text(op)
    x, made = text.inputs[0], op.outputs[0]
    if len(op.outputs) != 2 or x.element not in _ELEMENTS or not (size := made.shape[0]):
        return ""
    if len(x.shape) > 1:
        dims = ", ".join(map(str, range(len(x.shape))))
        x = text.operation(
            f"tensor.collapse_shape %{x.name} [[{dims}]] : {x.type} into", [size], x.element
        )

    def truth(b: Body, value: str, _: str) -> str:
        if x.element != "i1":
            zero = b.real(0) if x.element == "f32" else b.number(0, x.element)
            value = compare(b, "ne", value, zero, x.element)
        return b.cast("extui", value, ("i1", "i32"))

    # Of as many parts as each has elements, a sum begins with that of the parts before it.
    part = math.isqrt(size - 1) + 1
    parts = -(-size // part)
    flags = text.padded(text.loop([(x, (0,))], [size], "i32", truth), [parts * part])
    flags = text.operation(
        f"tensor.expand_shape %{flags.name} [[0, 1]] output_shape [{parts}, {part}] : {flags.type} into",
        [parts, part],
        "i32",
    )

    def before(b: Body, flag: str, old: str) -> str:
        return b.select(compare(b, "lt", index(b, 2), index(b, 0), "i32"), b.add(old, flag), old)

    def up_to(b: Body, flag: str, old: str) -> str:
        return b.select(compare(b, "le", index(b, 2), index(b, 1), "i32"), b.add(old, flag), old)

    sums = text.loop([(flags, (2, 1))], [parts], "i32", before, dims=(0,), start="0")
    shape = [parts, part]
    start = text.loop([(sums, (0,))], shape, "i32", lambda _, total, __: total)
    sums = text.loop([(flags, (0, 2))], shape, "i32", up_to, dims=(0, 1), start=start)
    size = parts * part
    totals = text.operation(
        f"tensor.collapse_shape %{sums.name} [[0, 1]] : {sums.type} into", [size], "i32"
    )
    count = text.loop([], [], "i32", lambda b, _: element(b, totals, [b.number(size - 1)]))

    def place(b: Body, _: str) -> str:
        """Finds how many elements have fewer true ones up to them, bit by bit."""
        wanted, low = index(b, 0), b.number(0)
        for bit in reversed(range(size.bit_length())):
            high = b.plus(low, 1 << bit)
            last = b.op("minsi", b.plus(high, -1), b.number(size - 1))
            is_inside = compare(b, "le", high, b.number(size), "i32")
            is_fewer = compare(b, "le", element(b, totals, [last]), wanted, "i32")
            low = b.select(b.op("andi", is_inside, is_fewer, kind="i1"), high, low)
        return low

    def coordinate(b: Body, at: str, real: str, _: str) -> str:
        value, behind = b.number(0), math.prod(op.inputs[0].shape)
        for dim, extent in enumerate(op.inputs[0].shape):
            behind //= extent
            own = b.op("remsi", b.op("divsi", at, b.number(behind)), b.number(extent))
            value = b.select(compare(b, "eq", index(b, 1), b.number(dim), "i32"), own, value)
        value = b.select(compare(b, "lt", index(b, 0), real, "i32"), value, b.number(0))
        return b.cast("extsi", value, ("i32", "i64"))

    found_at = text.loop([], made.shape[:1], "i32", place)
    operands = [(found_at, (0,)), (count, ())]
    return text.function(text.loop(operands, made.shape, "i64", coordinate), count)


KINDS: dict[str, Callable[[Operation], str]] = {_KIND: _places}
